import { Link } from 'wouter-preact'
import { api, readData, type Schemas } from '../api'
import { Badge } from '../parts/badge'
import { Field, useForm } from '../parts/form'
import { formatCount, formatNumber } from '../parts/format'
import { useLive } from '../parts/live'
import { showNotice } from '../parts/notices'
import { Facts, Failure, Loading, type PageProps, Title } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Ago, Exactly } from '../parts/time'

type Reconciliation = Schemas['Reconciliation']
type Finding = Reconciliation['unexplained'][number]

const KIND_LABELS: Record<Finding['kind'], string> = {
  lead_missing: 'A lead is missing',
  event_missing: 'An event is missing: its webhooks are not sent',
  event_waiting: 'An event is waiting: its webhooks are delayed',
  fan_out_overdue: 'An event is waiting for its deliveries',
  deliveries_missing: 'Deliveries of an event are missing',
  delivery_overdue: 'A delivery is overdue',
  delivery_beyond_schedule: 'A delivery waits longer than its schedule allows',
  delivery_held: 'A delivery is paused although its endpoint is enabled',
}

const makeColumns = ({ scopes }: Pick<PageProps, 'scopes'>): Column<Finding>[] => [
  { name: 'Problem', cell: ({ kind }) => <span class="wrap">{KIND_LABELS[kind]}</span> },
  { name: 'Detail', cell: ({ detail }) => <span class="wrap">{detail}</span> },
  {
    name: 'Where',
    cell: ({ delivery_id, lead_reference, lead_number }) => {
      if (delivery_id) return <Link href={`/deliveries/${delivery_id}`}>{`Delivery ${delivery_id}`}</Link>
      if (lead_reference && scopes.has('leads:read'))
        return <Link href={`/leads/${lead_reference}`}>{`Lead ${lead_reference.slice(0, 8)}`}</Link>
      return lead_number ? `Lead number ${formatNumber(lead_number)}` : '–'
    },
  },
  { name: 'Since', cell: ({ since }) => <Ago at={since} /> },
]

const describeResult = ({ leads, checked_leads, unexplained_count }: Reconciliation) => {
  if (unexplained_count > 0)
    return `${formatCount(unexplained_count, 'problem')} found. If this number does not fall, contact the operator.`
  const unchecked = leads - checked_leads
  const waiting =
    unchecked > 0 ? ` ${formatCount(unchecked, 'new lead is', 'new leads are')} checked next.` : ''
  return `All is well: the webhooks of every checked lead are accounted for.${waiting}`
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
          {`${formatNumber(found.checked_leads)} of ${formatCount(found.leads, 'lead')} checked, `}
          <Ago at={found.finished_at} />
        </span>
      )}
    </div>
    <p>{found.finished_at ? describeResult(found) : 'Not checked yet. A check runs every minute.'}</p>
    {found.unexplained.length > 0 && (
      <Table
        caption="Problems, oldest first"
        columns={makeColumns({ scopes })}
        rows={found.unexplained}
        getKey={({ kind, event_id, delivery_id, lead_number }) =>
          [kind, event_id, delivery_id, lead_number].join()
        }
      />
    )}
  </>
)

const Contact = ({ email, refresh }: { email: string | null; refresh: () => Promise<void> }) => {
  const save = async (fields: FormData) => {
    await api().PATCH('/manage/account', { body: { contact_email: String(fields.get('contact_email')) } })
    showNotice('Saved.')
    await refresh()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, ['contact_email'])
  return (
    <form class="card padded narrow" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Field
        name="contact_email"
        label="E-mail of the contact"
        errors={errors}
        help="Notified when all attempts of an endpoint have failed for 24 hours. Leave empty for no notifications."
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
    readData(api().GET('/manage/account', { signal })),
    readData(api().GET('/manage/reconciliation', { signal })),
  ])
  return { account: account.data, found: found.data }
}

/** /account: name, contact and reconciliation of the account. */
export const Account = ({ scopes }: PageProps) => {
  const { data, problem, refresh } = useLive('account', load)
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { account, found } = data
  const mayManage = scopes.has('manage')
  return (
    <>
      <Title title="Account" />
      <Facts
        rows={[
          ['Name', account.name],
          ['E-mail of the contact', !mayManage && account.contact_email],
          ['Created', <Exactly at={account.created_at} />],
        ]}
      />
      {mayManage && <Contact email={account.contact_email} refresh={refresh} />}
      <Reconciled found={found} scopes={scopes} />
    </>
  )
}
