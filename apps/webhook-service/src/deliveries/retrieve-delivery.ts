import { Attempt, type RetrieveDeliveryRequest, type RetrieveDeliveryResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, deliveryOf } from './delivery-row'

/** One delivery of the account with every attempt made, first to last. Throws not_found. */
export const retrieveDelivery = async (
  { database }: { database: Database },
  { accountId, deliveryId }: RetrieveDeliveryRequest,
  what = 'delivery',
): Promise<RetrieveDeliveryResponse> => {
  const [row] = await database.query<object>({
    name: 'retrieve-delivery',
    text: `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE account_id = $1 AND id = $2`,
    values: [accountId, deliveryId],
  })
  if (!row) throw new ServiceError('not_found', `There is no such ${what}.`)
  const delivery = deliveryOf(row)
  const attempts = await database.query<object>({
    name: 'attempts-of-delivery',
    // An attempt that ended between the two statements is left for the next look, so that both agree.
    text: `SELECT number, started_at AS "startedAt", duration_ms AS "durationMs", status, error, response
           FROM attempts WHERE delivery_id = $1 AND number <= $2 ORDER BY number`,
    values: [deliveryId, delivery.attemptCount],
  })
  return { delivery, attempts: attempts.map((attempt) => Attempt.fromPartial(attempt)) }
}
