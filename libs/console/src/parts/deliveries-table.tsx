import { Link } from 'wouter-preact'
import { type Delivery, isTest, reasonOf, stateOf } from '../deliveries'
import { type Endpoint, eventWords, nameOf } from '../endpoints'
import { Badge } from './badge'
import { type Column, Table } from './table'
import { Ago, Ahead } from './time'

export const DeliveryState = ({ delivery }: { delivery: Delivery }) => {
  const { word, tone } = stateOf(delivery)
  return <Badge word={word} tone={tone} />
}

const StateWithNext = ({ delivery }: { delivery: Delivery }) => (
  <span>
    <DeliveryState delivery={delivery} />
    {delivery.status === 'pending' && delivery.attempt_count > 0 && delivery.next_attempt_at && (
      <span class="faint">
        {' '}
        next try <Ahead at={delivery.next_attempt_at} />
      </span>
    )}
  </span>
)

const COLUMNS: Column<Delivery>[] = [
  { name: 'Delivery', cell: ({ id }) => <Link href={`/deliveries/${id}`}>{`#${id}`}</Link> },
  { name: 'Status', cell: (delivery) => <StateWithNext delivery={delivery} /> },
  {
    name: 'Last response',
    cell: ({ attempt_count, last_status: status, last_error: error }) =>
      attempt_count === 0 ? <span class="none">–</span> : reasonOf({ status, error }),
  },
  { name: 'Event', cell: ({ event }) => eventWords(event) },
  {
    name: 'Lead',
    cell: (delivery) =>
      isTest(delivery) ? (
        <Badge word="Test" tone="calm" />
      ) : delivery.lead_reference === null ? (
        <span class="none">–</span>
      ) : delivery.lead_name ? (
        // The name is there only for a token that may read leads.
        <Link class="cut" href={`/leads/${delivery.lead_reference}`}>
          {delivery.lead_name}
        </Link>
      ) : (
        <abbr class="mono" title={delivery.lead_reference}>
          {delivery.lead_reference.slice(0, 8)}
        </abbr>
      ),
  },
  { name: 'Created', cell: ({ created_at }) => <Ago at={created_at} /> },
]

/** `endpoints` is absent where all go to the one that is shown. */
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
          {nameOf(endpoint)}
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
      keyOf={({ id }) => id}
    />
  )
}
