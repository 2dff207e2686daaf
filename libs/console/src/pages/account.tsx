import { Link } from 'wouter-preact'
import { api, dataOf, type Schemas } from '../api'
import { Badge } from '../parts/badge'
import { Field, useForm } from '../parts/form'
import { counted, number } from '../parts/format'
import { useLive } from '../parts/live'
import { say } from '../parts/notices'
import { Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Ago, Exactly } from '../parts/time'

type Reconciliation = Schemas['Reconciliation']
type Finding = Reconciliation['unexplained'][number]

const KIND_WORDS: Record<Finding['kind'], string> = {
  lead_missing: 'A lead is missing',
  event_missing: 'An event is missing, so its webhooks are not sent',
  event_waiting: 'An event waits, so its webhooks are delayed',
  deliveries_missing: 'Deliveries of an event are missing',
  delivery_overdue: 'A delivery is overdue',
  delivery_beyond_schedule: 'A delivery waits longer than planned',
  delivery_held: 'A delivery is paused though its endpoint is enabled',
}

const columnsOf = ({ scopes }: Pick<PageProps, 'scopes'>): Column<Finding>[] => [
  { name: 'What', cell: ({ kind }) => <span class="wrap">{KIND_WORDS[kind]}</span> },
  { name: 'Detail', cell: ({ detail }) => <span class="wrap">{detail}</span> },
  {
    name: 'Where',
    cell: ({ delivery_id, lead_reference, lead_number }) => {
      if (delivery_id) return <Link href={`/deliveries/${delivery_id}`}>{`Delivery ${delivery_id}`}</Link>
      if (lead_reference && scopes.has('leads:read'))
        return <Link href={`/leads/${lead_reference}`}>{`Lead ${lead_reference.slice(0, 8)}`}</Link>
      return lead_number ? `Lead number ${number(lead_number)}` : '–'
    },
  },
  { name: 'Since', cell: ({ since }) => <Ago at={since} /> },
]

const verdictOf = ({ leads, checked_leads, unexplained_count }: Reconciliation) => {
  if (unexplained_count > 0)
    return `${counted(unexplained_count, 'thing is', 'things are')} not as expected. Ask the operator if this does not change.`
  const unchecked = leads - checked_leads
  const waiting = unchecked > 0 ? ` ${counted(unchecked, 'new lead is', 'new leads are')} checked next.` : ''
  return `All is well: every checked lead has its webhooks sent, waiting or explained.${waiting}`
}

const Reconciled = ({ found, scopes }: { found: Reconciliation } & Pick<PageProps, 'scopes'>) => (
  <>
    <div class="heading">
      <h2>
        {'Check of leads and webhooks '}
        {found.finished_at && (
          <Badge
            word={found.unexplained_count > 0 ? 'Needs attention' : 'All is well'}
            tone={found.unexplained_count > 0 ? 'bad' : 'good'}
          />
        )}
      </h2>
      {found.finished_at && (
        <span class="faint">
          {`${number(found.checked_leads)} of ${counted(found.leads, 'lead')} checked, `}
          <Ago at={found.finished_at} />
        </span>
      )}
    </div>
    <p>{found.finished_at ? verdictOf(found) : 'Nothing was checked yet. It is done each minute.'}</p>
    {found.unexplained.length > 0 && (
      <Table
        caption="What is not as expected, oldest first"
        columns={columnsOf({ scopes })}
        rows={found.unexplained}
        keyOf={({ kind, event_id, delivery_id, lead_number }) =>
          [kind, event_id, delivery_id, lead_number].join()
        }
      />
    )}
  </>
)

const Contact = ({ email, refresh }: { email: string | null; refresh: () => Promise<void> }) => {
  const save = async (fields: FormData) => {
    await api().PATCH('/manage/account', { body: { contact_email: String(fields.get('contact_email')) } })
    say('Saved.')
    await refresh()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, ['contact_email'])
  return (
    <form class="card padded narrow" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Field
        name="contact_email"
        label="E-mail of the contact"
        errors={errors}
        help="Notified when an endpoint has only failed for 24 hours. Empty: no notifications."
      >
        {(attributes) => <input type="email" defaultValue={email ?? ''} {...attributes} />}
      </Field>
      {failure}
      <div class="actions">
        <button type="submit">Save</button>
      </div>
    </form>
  )
}

const load = async (signal: AbortSignal) => {
  const [account, found] = await Promise.all([
    dataOf(api().GET('/manage/account', { signal })),
    dataOf(api().GET('/manage/reconciliation', { signal })),
  ])
  return { account: account.data, found: found.data }
}

/** /account: whose it is, who is notified, and whether all webhooks are accounted for. */
export const Account = ({ scopes }: PageProps) => {
  const { data, problem, refresh } = useLive('account', load)
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { account, found } = data
  return (
    <>
      <Title title="Account" />
      <Facts
        rows={[
          ['Name', account.name],
          ['Created', <Exactly at={account.created_at} />],
        ]}
      />
      <Contact email={account.contact_email} refresh={refresh} />
      <Reconciled found={found} scopes={scopes} />
    </>
  )
}
