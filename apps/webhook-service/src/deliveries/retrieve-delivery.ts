import type { Attempt, RetrieveDeliveryRequest, RetrieveDeliveryResponse } from '@leadwire/contracts'
import { type Database, ServiceError } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, type DeliveryRow, deliveryOf } from './delivery-row'

interface AttemptRow extends Omit<Attempt, 'status' | 'error' | 'response'> {
  status: number | null
  error: string | null
  response: string | null
}

const attemptOf = (row: AttemptRow): Attempt => ({
  ...row,
  status: row.status ?? undefined,
  error: row.error ?? undefined,
  response: row.response ?? undefined,
})

/** One delivery of the account with every attempt made, first to last. Throws not_found. */
export const retrieveDelivery = async (
  { database }: { database: Database },
  { accountId, deliveryId }: RetrieveDeliveryRequest,
): Promise<RetrieveDeliveryResponse> => {
  const [row] = await database.query<DeliveryRow>({
    name: 'retrieve-delivery',
    text: `SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE account_id = $1 AND id = $2`,
    values: [accountId, deliveryId],
  })
  if (!row) throw new ServiceError('not_found', 'There is no such delivery.')
  const attempts = await database.query<AttemptRow>({
    name: 'attempts-of-delivery',
    // An attempt that ended between the two statements is left for the next look, so that both agree.
    text: `SELECT number, started_at AS "startedAt", duration_ms AS "durationMs", status, error, response
           FROM attempts WHERE delivery_id = $1 AND number <= $2 ORDER BY number`,
    values: [deliveryId, row.attemptCount],
  })
  return { delivery: deliveryOf(row), attempts: attempts.map(attemptOf) }
}
