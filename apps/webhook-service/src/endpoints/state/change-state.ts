import type { Transaction } from '@leadwire/service-kit'

const MARK = `
  INSERT INTO endpoint_syncs (endpoint_id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id
  ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id`

/**
 * Marks endpoints that the same transaction disabled, enabled or deleted before: the status of their deliveries is out of sync.
 * Waits for a batch that is being moved by their state of before. Ends their recoveries.
 */
export const markOutOfSync = async (tx: Transaction, endpointIds: number[]): Promise<void> => {
  await tx.query({ name: 'mark-out-of-sync', text: MARK, values: [endpointIds] })
  const text = 'DELETE FROM recoveries WHERE endpoint_id = ANY ($1)'
  await tx.query({ name: 'end-recoveries', text, values: [endpointIds] })
}

/** Deletes the record of failures of a changed or deleted endpoint. Every writer of both writes deliveries first. */
export const deleteFailures = async (tx: Transaction, endpointId: number): Promise<void> => {
  const text = 'DELETE FROM endpoint_failures WHERE endpoint_id = $1'
  await tx.query({ name: 'delete-failures', text, values: [endpointId] })
}
