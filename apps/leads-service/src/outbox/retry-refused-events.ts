import type { WebhooksServiceClient } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import type { Dependencies, Operation } from '../operation'

/** The maximum number of events that one call releases. */
const BATCH = 500

const findRefused = statement<{ eventId: string }>('find-refused-events')`
  SELECT event_id AS "eventId" FROM outbox
  WHERE next_check_at IS NULL AND refusal IS NOT NULL AND account_id = coalesce($1::bigint, account_id)
  ORDER BY created_at LIMIT ${BATCH}`

const release = statement('release-refused-events')`
  UPDATE outbox SET next_check_at = clock_timestamp(), refusal = NULL
  WHERE event_id = ANY ($1::uuid[]) AND refusal IS NOT NULL`

export interface RetryDeps extends Pick<Dependencies, 'database'> {
  webhooks: Pick<WebhooksServiceClient, 'deleteDeadLetters'>
}

/**
 * Makes refused events due, so that they are published again. Before that, webhook-service deletes its
 * records of the refusals, because the next check would otherwise find the old refusals. Throws `unavailable`
 * while webhook-service is unavailable.
 */
export const retryRefusedEvents = async (
  { database, webhooks }: RetryDeps,
  { accountId }: Parameters<Operation<'retryRefusedEvents'>>[1],
): ReturnType<Operation<'retryRefusedEvents'>> => {
  const refused = await findRefused(database, accountId ?? null)
  const eventIds = refused.map(({ eventId }) => eventId)
  if (eventIds.length === 0) return { events: 0, more: false }
  await webhooks.deleteDeadLetters({ eventIds })
  await release(database, eventIds)
  return { events: eventIds.length, more: eventIds.length === BATCH }
}
