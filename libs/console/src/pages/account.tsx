import { Link } from 'wouter-preact'
import { AccountSettings } from '../account/account-settings'
import { LeadRetention } from '../account/lead-retention'
import { api, readData, type Schemas } from '../api'
import { Badge } from '../parts/badge'
import { formatCount, formatNumber } from '../parts/format'
import { useLive } from '../parts/live'
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

const describeDue = (minutes: number): string =>
  minutes === 0 ? 'At their time' : `${formatCount(minutes, 'minute')} before their time`

const load = async (signal: AbortSignal) => {
  const [account, found, retention] = await Promise.all([
    readData(api().GET('/manage/account', { signal })),
    readData(api().GET('/manage/reconciliation', { signal })),
    readData(api().GET('/manage/lead-retention', { signal })),
  ])
  return { account: account.data, found: found.data, rule: retention.data }
}

/** /account: name, settings, erasure of old leads and reconciliation of the account. */
export const Account = ({ scopes }: PageProps) => {
  const { data, problem, refresh } = useLive('account', load)
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { account, found, rule } = data
  const mayManage = scopes.has('manage')
  return (
    <>
      <Title title="Account" />
      <Facts
        rows={[
          ['Name', account.name],
          ['E-mail of the contact', !mayManage && account.contact_email],
          ['Appointments are due', !mayManage && describeDue(account.appointment_due_minutes)],
          ['Callbacks are due', !mayManage && describeDue(account.callback_due_minutes)],
          ['Created', <Exactly at={account.created_at} />],
        ]}
      />
      {mayManage && <AccountSettings account={account} refresh={refresh} />}
      <LeadRetention rule={rule} mayManage={mayManage} refresh={refresh} />
      <Reconciled found={found} scopes={scopes} />
    </>
  )
}
