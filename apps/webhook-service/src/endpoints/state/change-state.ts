import type { OpenTransaction } from '@leadwire/service-kit'
import { statement } from '../../statement'

const mark = statement('mark-out-of-sync')`
  INSERT INTO endpoint_syncs (endpoint_id) SELECT id FROM unnest($1::bigint[]) AS id ORDER BY id
  ON CONFLICT (endpoint_id) DO UPDATE SET endpoint_id = excluded.endpoint_id`

const endRecoveries = statement('end-recoveries')`DELETE FROM recoveries WHERE endpoint_id = ANY ($1)`

/**
 * Marks endpoints that the same transaction disabled, enabled or deleted before: the status of their deliveries is out of sync.
 * Waits for a batch that is being moved by their state of before. Ends their recoveries.
 */
export const markOutOfSync = async (tx: OpenTransaction, endpointIds: number[]): Promise<void> => {
  await mark(tx, endpointIds)
  await endRecoveries(tx, endpointIds)
}

/** Deletes the failures of a changed or deleted endpoint. Every transaction that writes deliveries too writes them first. */
export const deleteFailures = statement('delete-failures')`
  DELETE FROM endpoint_failures WHERE endpoint_id = $1`
