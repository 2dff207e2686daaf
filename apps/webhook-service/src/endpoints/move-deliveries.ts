import type { Transaction } from '@leadwire/service-kit'

/**
 * Moves an endpoint's open deliveries along with it: held while it is disabled, pending while it is enabled, cancelled
 * when it is deleted. The endpoint's row must have been updated before in the same transaction: its lock keeps a
 * fan-out that saw the old state from slipping in.
 */
export const moveDeliveries = async (
  tx: Transaction,
  { endpointId, from, to }: { endpointId: number; from: string[]; to: 'held' | 'pending' | 'cancelled' },
): Promise<void> =>
  void (await tx.query({
    name: 'move-deliveries',
    // In the order of ids, as every statement that locks many deliveries and waits does: so none waits in a circle.
    text: `WITH moving AS (
             SELECT id FROM deliveries
             WHERE endpoint_id = $1 AND status = ANY ($2) ORDER BY id FOR UPDATE
           )
           UPDATE deliveries d SET
             status = $3,
             next_attempt_at = CASE WHEN $3 = 'cancelled' THEN NULL ELSE next_attempt_at END,
             updated_at = clock_timestamp()
           FROM moving WHERE d.id = moving.id`,
    values: [endpointId, from, to],
  }))
