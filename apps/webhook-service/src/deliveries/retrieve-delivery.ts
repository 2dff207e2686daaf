import { Attempt, type Delivery, type RetrieveDeliveryRequest, WebhookRequest } from '@leadwire/contracts'
import { columnsByName, type Database, statement, theRow } from '@leadwire/service-kit'
import { renderKnownHeaders, type Webhook } from '../delivery/attempt/webhook-headers'
import { BODY, DELIVERY_COLUMNS, readDelivery } from '../delivery-sql'
import type { Operation } from '../operation'

const retrieve = statement('retrieve-delivery')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE account_id = $1 AND id = $2`

// Omits attempts that were recorded after their delivery was read, so that the delivery and its attempts
// match.
const selectAttempts = statement<Attempt & { deliveryId: number }>('attempts-of-deliveries')`
  SELECT delivery_id AS "deliveryId", number, started_at AS "startedAt", duration_ms AS "durationMs", status, error,
    response, reason
  FROM unnest(:id::bigint[], :attemptCount::int[]) AS d (id, count)
    JOIN attempts ON delivery_id = d.id AND number <= d.count
  ORDER BY delivery_id, number`

/** Returns deliveries, each with its attempts in the order of their numbers. */
export const readAttempts = async (database: Database, deliveries: Delivery[]) => {
  const attempts = await selectAttempts(database, columnsByName(deliveries, 'id', 'attemptCount'))
  return deliveries.map((delivery) => {
    const own = attempts.filter(({ deliveryId }) => deliveryId === delivery.id)
    return { delivery, attempts: own.map((attempt) => Attempt.fromPartial(attempt)) }
  })
}

type RequestRow = Pick<Webhook, 'accountKey' | 'sequence' | 'leadVersion' | 'body'> & {
  headerNames: string[]
}

const selectRequest = statement<RequestRow>('request-of-delivery')`
  SELECT e.account_key AS "accountKey", e.number AS sequence, e.lead_version AS "leadVersion", ${BODY} AS body,
    p.header_names AS "headerNames"
  FROM deliveries d JOIN events e ON e.id = d.event_id JOIN endpoints p ON p.id = d.endpoint_id
  WHERE d.id = $1 AND e.erased_at IS NULL`

/** Finds a webhook delivery or a notification, with its attempts. Throws `not_found`. */
export const findDelivery = async (
  database: Database,
  { accountId, deliveryId }: RetrieveDeliveryRequest,
  what: 'delivery' | 'notification',
) => {
  const delivery = readDelivery(theRow(await retrieve(database, accountId, deliveryId), what))
  const [found] = await readAttempts(database, [delivery])
  return found!
}

const findRequest = async (database: Database, { id, eventId }: Delivery) => {
  const [row] = await selectRequest(database, id)
  if (!row) return undefined
  const headers = Object.entries(renderKnownHeaders({ eventId, ...row }, row.headerNames))
  return WebhookRequest.fromPartial({
    headers: headers.map(([name, value]) => ({ name, value: value ?? undefined })),
    body: row.body,
  })
}

/**
 * Returns a delivery with its attempts, and the HTTP request that an attempt sends. `request` has the current
 * headers of the endpoint, and is undefined if the lead was erased. Throws `not_found`.
 */
export const retrieveDelivery: Operation<'retrieveDelivery'> = async ({ database }, request) => {
  const found = await findDelivery(database, request, 'delivery')
  return { ...found, request: await findRequest(database, found.delivery) }
}
