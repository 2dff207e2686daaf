import { Link } from 'wouter-preact'
import { type Delivery, describeResult, describeState, isTest } from '../deliveries'
import { type Endpoint, labelEvent, nameEndpoint } from '../endpoints'
import { Badge } from './badge'
import { type Column, Table } from './table'
import { Ago, Ahead } from './time'

export const DeliveryState = ({ delivery }: { delivery: Delivery }) => {
  const { word, tone } = describeState(delivery)
  return <Badge word={word} tone={tone} />
}

const StateWithNext = ({ delivery }: { delivery: Delivery }) => (
  <span>
    <DeliveryState delivery={delivery} />
    {delivery.status === 'pending' && delivery.attempt_count > 0 && delivery.next_attempt_at && (
      <span class="faint line">
        {' '}
        next attempt <Ahead at={delivery.next_attempt_at} />
      </span>
    )}
  </span>
)

/**
 * A link to the lead with its name, or the start of the reference if the API returns no name. Only a token
 * that may read leads gets names.
 */
const DeliveryLead = ({ delivery }: { delivery: Delivery }) => {
  const { lead_reference: reference, lead_name: name } = delivery
  if (isTest(delivery)) return <Badge word="Test" tone="calm" />
  if (reference === null) return <span class="none">–</span>
  if (name) {
    return (
      <Link class="cut" href={`/leads/${reference}`}>
        {name}
      </Link>
    )
  }
  return (
    <abbr class="mono" title={reference}>
      {reference.slice(0, 8)}
    </abbr>
  )
}

const COLUMNS: Column<Delivery>[] = [
  { name: 'Delivery', cell: ({ id }) => <Link href={`/deliveries/${id}`}>{`#${id}`}</Link> },
  { name: 'Status', cell: (delivery) => <StateWithNext delivery={delivery} /> },
  {
    name: 'Last response',
    cell: ({ attempt_count, last_status: status, last_error: error }) =>
      attempt_count === 0 ? <span class="none">–</span> : describeResult({ status, error }),
  },
  { name: 'Event', cell: ({ event }) => labelEvent(event) },
  { name: 'Lead', cell: (delivery) => <DeliveryLead delivery={delivery} /> },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

/** A table of deliveries. Without `endpoints` it has no column for the endpoint. */
export const DeliveriesTable = ({
  deliveries,
  endpoints,
}: {
  deliveries: Delivery[]
  endpoints?: Endpoint[]
}) => {
  const endpointColumn: Column<Delivery> = {
    name: 'Endpoint',
    cell: ({ endpoint_id: id }) => {
      const endpoint = endpoints?.find((one) => one.id === id)
      return endpoint ? (
        <Link class="cut" href={`/endpoints/${id}`}>
          {nameEndpoint(endpoint)}
        </Link>
      ) : (
        `${id} (deleted)`
      )
    },
  }
  return (
    <Table
      caption="Deliveries, newest first"
      columns={endpoints ? COLUMNS.toSpliced(-1, 0, endpointColumn) : COLUMNS}
      rows={deliveries}
      getKey={({ id }) => id}
    />
  )
}
