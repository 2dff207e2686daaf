import { invalidOnly, Problem } from '../api'
import { listDeliveries, REASONS, STATUS_WORDS } from '../deliveries'
import { type Endpoint, EVENT_OPTIONS, listEndpoints, nameOf } from '../endpoints'
import { DeliveriesTable } from '../parts/deliveries-table'
import { type Filter, Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'

// Notifications have them, deliveries don't.
const MAIL_ERRORS = ['smtp_status', 'unconfirmed']

const filtersOf = (endpoints: Endpoint[]): Filter[] => [
  { name: 'endpoint_id', label: 'Endpoint', options: endpoints.map((one) => [String(one.id), nameOf(one)]) },
  { name: 'status', label: 'Status', options: Object.entries(STATUS_WORDS) },
  { name: 'lead_reference', label: 'Lead reference, or its start' },
  { name: 'type', label: 'Event', options: EVENT_OPTIONS, isRare: true },
  {
    name: 'failed',
    label: 'Last attempt',
    options: [
      ['true', 'Failed'],
      ['false', 'Succeeded, or not made yet'],
    ],
    isRare: true,
  },
  {
    name: 'error',
    label: 'Reason of the failure',
    options: Object.entries(REASONS).filter(([error]) => !MAIL_ERRORS.includes(error)),
    isRare: true,
  },
  { name: 'from', label: 'Created from', isMoment: true, isRare: true },
  { name: 'to', label: 'Created before', isMoment: true, isRare: true },
]

const load = async (query: URLSearchParams, signal: AbortSignal) => {
  const [endpoints, page] = await Promise.all([
    listEndpoints(signal),
    listDeliveries(Object.fromEntries(query), signal).catch(invalidOnly),
  ])
  return page instanceof Problem ? { endpoints, errors: page.errors } : { endpoints, page }
}

/** /deliveries: every delivery, newest first. */
export const Deliveries = () => {
  const [query] = useQuery()
  const { data, problem, refresh } = useLive(String(query), (signal) => load(query, signal))
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoints, page, errors } = data
  return (
    <>
      <Title title="Deliveries" />
      <Filters filters={filtersOf(endpoints)} errors={errors} />
      {page &&
        (page.data.length > 0 ? (
          <DeliveriesTable deliveries={page.data} endpoints={endpoints} />
        ) : (
          <Empty>
            {page.next_cursor
              ? 'None of the newest matches; older ones may.'
              : query.size > 0
                ? 'No delivery matches.'
                : 'Nothing was sent yet.'}
          </Empty>
        ))}
      <Pager next={page?.next_cursor} />
    </>
  )
}
