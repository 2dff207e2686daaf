import { Link, Redirect } from 'wouter-preact'
import { ownEndpoint } from '../api'
import {
  judgeEndpoint,
  loadEndpoints,
  nameEndpoint,
  renderDeliveriesPath,
  type WatchedEndpoint,
} from '../endpoints'
import { Badge } from '../parts/badge'
import { formatNumber } from '../parts/format'
import { useLive } from '../parts/live'
import { Empty, Failure, Loading, type PageProps, Title } from '../parts/page'
import { type Column, Table } from '../parts/table'
import { Ago } from '../parts/time'

type Waiting = 'pending' | 'held' | 'exhausted'

const DeliveryCount = ({
  endpoint: { id, health },
  status,
}: {
  endpoint: WatchedEndpoint
  status: Waiting
}) =>
  health[status] === 0 ? (
    <span class="none">0</span>
  ) : (
    <Link class={`count ${status}`} href={renderDeliveriesPath(id, status)}>
      {formatNumber(health[status])}
    </Link>
  )

const Health = ({ endpoint }: { endpoint: WatchedEndpoint }) => {
  const { word, tone, because } = judgeEndpoint(endpoint)
  return (
    <span>
      <Badge word={word} tone={tone} /> <span class="faint">{because}</span>
    </span>
  )
}

const COLUMNS: Column<WatchedEndpoint>[] = [
  {
    name: 'Endpoint',
    cell: (endpoint) => (
      <span class="named">
        <Link href={`/endpoints/${endpoint.id}`}>{nameEndpoint(endpoint)}</Link>
        {endpoint.description && <span class="mono faint">{endpoint.url}</span>}
      </span>
    ),
  },
  { name: 'Health', cell: (endpoint) => <Health endpoint={endpoint} /> },
  {
    name: 'Last success',
    cell: ({ health: { last_success_at: at } }) => (at ? <Ago at={at} /> : <span class="none">never</span>),
  },
  { name: 'Waiting', cell: (endpoint) => <DeliveryCount endpoint={endpoint} status="pending" /> },
  { name: 'Paused (held)', cell: (endpoint) => <DeliveryCount endpoint={endpoint} status="held" /> },
  {
    name: 'Failed (exhausted)',
    cell: (endpoint) => <DeliveryCount endpoint={endpoint} status="exhausted" />,
  },
]

/** /endpoints: all endpoints with their health, failing ones first. */
export const Endpoints = ({ scopes }: PageProps) => {
  const { data: endpoints, problem, refresh } = useLive('endpoints', loadEndpoints)
  if (ownEndpoint.value !== null) return <Redirect to={`/endpoints/${ownEndpoint.value}`} replace />
  if (!endpoints) return problem ? <Failure problem={problem} again={refresh} /> : <Loading />
  const worstFirst = endpoints.toSorted((one, other) => judgeEndpoint(one).rank - judgeEndpoint(other).rank)
  return (
    <>
      <Title
        title="Endpoints"
        actions={
          scopes.has('webhooks') && (
            <Link class="button" href="/endpoints/new">
              New endpoint
            </Link>
          )
        }
      />
      {endpoints.length === 0 ? (
        <Empty>
          <p>There are no endpoints yet.</p>
          <p>An endpoint is the address of a program that receives each new lead.</p>
          {scopes.has('webhooks') && <p>Choose New endpoint to add the first one.</p>}
        </Empty>
      ) : (
        <Table
          caption="Endpoints and their health, failing ones first"
          columns={COLUMNS}
          rows={worstFirst}
          getKey={({ id }) => id}
        />
      )}
    </>
  )
}
