import { Link } from 'wouter-preact'
import { Problem, requireInvalid } from '../api'
import { describeState, STATUS_LABELS } from '../deliveries'
import { listNotifications, type Notification, SUBJECT_LABELS } from '../notifications'
import { Badge } from '../parts/badge'
import { Email } from '../parts/email'
import { type Filter, Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'

const FILTERS: Filter[] = [
  { name: 'status', label: 'Status', options: Object.entries(STATUS_LABELS) },
  { name: 'lead_reference', label: 'Lead reference' },
]

const COLUMNS: Column<Notification>[] = [
  { name: 'Notification', cell: ({ id }) => <Link href={`/notifications/${id}`}>{`#${id}`}</Link> },
  { name: 'Status', cell: (one) => <Badge {...describeState(one)} /> },
  { name: 'About', cell: ({ subject }) => SUBJECT_LABELS[subject] },
  { name: 'To', cell: ({ user_email }) => <Email address={user_email} /> },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

const load = async (query: URLSearchParams, signal: AbortSignal) => {
  const page = await listNotifications(Object.fromEntries(query), signal).catch(requireInvalid)
  return page instanceof Problem ? { errors: page.errors } : { page }
}

const NoNotification = ({ isFiltered }: { isFiltered: boolean }) =>
  isFiltered ? (
    <Empty>No notification matches. Change the filters, or clear them.</Empty>
  ) : (
    <Empty>
      <p>There are no notifications yet.</p>
      <p>E-mails to users about leads, appointments, callbacks and sign-ins appear here.</p>
    </Empty>
  )

/** /notifications: e-mails to users and to the account's contact, newest first. */
export const Notifications = () => {
  const [query] = useQuery()
  const { data, problem, refresh } = useLive(String(query), (signal) => load(query, signal))
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { page, errors } = data
  return (
    <>
      <Title title="Notifications" />
      <Filters filters={FILTERS} errors={errors} />
      {page &&
        (page.data.length > 0 ? (
          <Table
            caption="Notifications, newest first"
            columns={COLUMNS}
            rows={page.data}
            getKey={({ id }) => id}
          />
        ) : (
          <NoNotification isFiltered={query.size > 0} />
        ))}
      <Pager next={page?.next_cursor} />
    </>
  )
}
