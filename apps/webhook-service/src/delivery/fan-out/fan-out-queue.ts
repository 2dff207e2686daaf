import { columnsByName, type OpenTransaction, statement } from '@leadwire/service-kit'

// Stores only the id of the newest endpoint, because this id identifies all endpoints that exist now.
// Transactions that create endpoints of an account run one after the other, so a later endpoint has a higher
// id.
const insert = statement('queue-fan-outs')`
  INSERT INTO fan_out_queue (event_id, account_id, newest_endpoint_id)
  SELECT event_id, account_id, coalesce((
    SELECT id FROM endpoints p WHERE p.account_id = e.account_id ORDER BY p.account_id DESC, id DESC LIMIT 1
  ), 0)
  FROM unnest(:id::uuid[], :accountId::bigint[]) WITH ORDINALITY AS e (event_id, account_id, place)
  ORDER BY place`

/** Queues events in the given order. Only endpoints that exist now will receive these events. */
export const queueFanOuts = (tx: OpenTransaction, events: { id: string; accountId: number }[]): void => {
  if (events.length > 0) insert.send(tx, columnsByName(events, 'id', 'accountId'))
}
