import { Attempt, type Delivery, type RetrieveDeliveryRequest, WebhookRequest } from '@leadwire/contracts'
import { columnsOf, type Database, statement, theRow } from '@leadwire/service-kit'
import { knownHeaders, type Webhook } from '../attempt/webhook-headers'
import { BODY, DELIVERY_COLUMNS, deliveryOf } from '../delivery-sql'
import type { Operation } from '../operation'

const retrieve = statement('retrieve-delivery')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE account_id = $1 AND id = $2`

// An attempt that ended after its delivery was read is left out, so that both agree.
const selectAttempts = statement<Attempt & { deliveryId: number }>('attempts-of-deliveries')`
  SELECT delivery_id AS "deliveryId", number, started_at AS "startedAt", duration_ms AS "durationMs", status, error, response, reason
  FROM unnest($1::bigint[], $2::int[]) AS d (id, count) JOIN attempts ON delivery_id = d.id AND number <= d.count
  ORDER BY delivery_id, number`

/** Deliveries, each with its attempts, first to last. */
export const withAttempts = async (database: Database, deliveries: Delivery[]) => {
  const attempts = await selectAttempts(database, ...columnsOf(deliveries, 'id', 'attemptCount'))
  return deliveries.map((delivery) => {
    const own = attempts.filter(({ deliveryId }) => deliveryId === delivery.id)
    return { delivery, attempts: own.map((attempt) => Attempt.fromPartial(attempt)) }
  })
}

type RequestRow = Pick<Webhook, 'accountKey' | 'sequence' | 'leadVersion' | 'body'> & {
  headerNames: string[]
}

const requestData = statement<RequestRow>('request-of-delivery')`
  SELECT e.account_key AS "accountKey", e.number AS sequence, e.lead_version AS "leadVersion", ${BODY} AS body,
    p.header_names AS "headerNames"
  FROM deliveries d JOIN events e ON e.id = d.event_id JOIN endpoints p ON p.id = d.endpoint_id
  WHERE d.id = $1 AND e.erased_at IS NULL`

/** A delivery of either kind with its attempts. Throws not_found. */
export const findDelivery = async (
  database: Database,
  { accountId, deliveryId }: RetrieveDeliveryRequest,
  what: 'delivery' | 'notification',
) => {
  const delivery = deliveryOf(theRow(await retrieve(database, accountId, deliveryId), what))
  const [found] = await withAttempts(database, [delivery])
  return found!
}

const requestOf = async (database: Database, { id, eventId }: Delivery) => {
  const [row] = await requestData(database, id)
  if (!row) return undefined
  const headers = Object.entries(knownHeaders({ eventId, ...row }, row.headerNames))
  return WebhookRequest.fromPartial({
    headers: headers.map(([name, value]) => ({ name, value: value ?? undefined })),
    body: row.body,
  })
}

/** A delivery with its attempts and their request, with the headers that its endpoint has now. An erased lead has no request. Throws not_found. */
export const retrieveDelivery: Operation<'retrieveDelivery'> = async ({ database }, request) => {
  const found = await findDelivery(database, request, 'delivery')
  return { ...found, request: await requestOf(database, found.delivery) }
}
