import type { Transaction } from '@leadwire/service-kit'

const MARK = `
  INSERT INTO unsettled_endpoints (endpoint_id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id
  ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id`

const FORGET_RECOVERIES = 'DELETE FROM recoveries WHERE endpoint_id = ANY ($1)'

/**
 * Says that the rows of deliveries of these endpoints, which the same transaction disabled, enabled or deleted before, are to follow.
 * It waits for a portion that is being moved by what the endpoint was before. What is
 * still to be recovered at them is forgotten.
 */
export const markUnsettled = async (tx: Transaction, endpointIds: number[]): Promise<void> => {
  await tx.query({ name: 'mark-unsettled', text: MARK, values: [endpointIds] })
  await tx.query({ name: 'forget-recoveries', text: FORGET_RECOVERIES, values: [endpointIds] })
}
