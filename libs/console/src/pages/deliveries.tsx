import { Link } from 'wouter-preact'
import { Problem, requireInvalid } from '../api'
import { listDeliveries, REASONS, STATUS_LABELS } from '../deliveries'
import { type Endpoint, EVENT_OPTIONS, listEndpoints, nameEndpoint } from '../endpoints'
import { DeliveriesTable } from '../parts/deliveries-table'
import { type Filter, Filters } from '../parts/filters'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, Title } from '../parts/page'
import { Pager, useQuery } from '../parts/pager'

// The errors that only notifications have.
const MAIL_ERRORS = ['smtp_status', 'unconfirmed']

const makeFilters = (endpoints: Endpoint[]): Filter[] => [
  {
    name: 'endpoint_id',
    label: 'Endpoint',
    options: endpoints.map((one) => [String(one.id), nameEndpoint(one)]),
  },
  { name: 'status', label: 'Status', options: Object.entries(STATUS_LABELS) },
  { name: 'lead_reference', label: 'Lead reference, or its first characters' },
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
    label: 'Reason for the failure',
    options: Object.entries(REASONS).filter(([error]) => !MAIL_ERRORS.includes(error)),
    isRare: true,
  },
  { name: 'from', label: 'Created from', isMoment: true, isRare: true },
  { name: 'to', label: 'Created before', isMoment: true, isRare: true },
]

const load = async (query: URLSearchParams, signal: AbortSignal) => {
  const [endpoints, page] = await Promise.all([
    listEndpoints(signal),
    listDeliveries(Object.fromEntries(query), signal).catch(requireInvalid),
  ])
  return page instanceof Problem ? { endpoints, errors: page.errors } : { endpoints, page }
}

interface NoDeliveryProps {
  isFiltered: boolean
  hasMore: boolean
  /** Whether nothing can be sent, because the account has no endpoint. */
  lacksEndpoint: boolean
}

const NoDelivery = ({ isFiltered, hasMore, lacksEndpoint }: NoDeliveryProps) => {
  if (hasMore) return <Empty>No match among the newest deliveries. Use Older to search further.</Empty>
  if (isFiltered) return <Empty>No delivery matches. Change the filters, or clear them.</Empty>
  return (
    <Empty>
      <p>Nothing has been sent yet.</p>
      {lacksEndpoint ? (
        <p>
          Webhooks are sent to <Link href="/endpoints">endpoints</Link>. There are none yet.
        </p>
      ) : (
        <p>The next event, such as a new lead, is sent to each endpoint and appears here.</p>
      )}
    </Empty>
  )
}

/** /deliveries: the deliveries that match the filters, newest first. */
export const Deliveries = () => {
  const [query] = useQuery()
  const { data, problem, refresh } = useLive(String(query), (signal) => load(query, signal))
  if (!data) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const { endpoints, page, errors } = data
  return (
    <>
      <Title title="Deliveries" />
      <Filters filters={makeFilters(endpoints)} errors={errors} />
      {page &&
        (page.data.length > 0 ? (
          <DeliveriesTable deliveries={page.data} endpoints={endpoints} />
        ) : (
          <NoDelivery
            isFiltered={query.size > 0}
            hasMore={Boolean(page.next_cursor)}
            lacksEndpoint={endpoints.length === 0}
          />
        ))}
      <Pager next={page?.next_cursor} />
    </>
  )
}
