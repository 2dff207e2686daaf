import { randomUUID } from 'node:crypto'
import { type EndpointFailure, NotificationRequested } from '@leadwire/contracts'
import type { OpenTransaction } from '@leadwire/service-kit'
import { validate } from '../arguments'
import { below, LAST, NEWEST_FIRST, readInOrder } from '../delivery-sql'
import { notifiedSince } from '../endpoints/state/list-failing-endpoints'
import type { Operation } from '../operation'
import { statement } from '../statement'
import { ensureMailbox } from './ensure-mailbox'
import { MAX_COUNT } from './message-content'

/** The last attempt is searched among so many of the newest deliveries of each status. */
const NEWEST = 1000

// Schemas are named: the connection is that of notifications.
const markNotified = statement<{ accountId: number; url: string; since: string }>('mark-as-notified')`
  UPDATE public.endpoint_failures f SET notified_at = $3 FROM public.endpoints p
  WHERE f.endpoint_id = $1 AND f.notified_at IS NULL AND f.since <= $2 AND p.id = f.endpoint_id
  RETURNING p.account_id AS "accountId", p.url, f.since`

const detailsOf = statement<{ waiting: number; error: string | null }>('details-of-failure')`
  SELECT (
    SELECT count(*)::int FROM (
      SELECT FROM unnest(ARRAY['pending', 'held']) AS s (status) CROSS JOIN LATERAL (
        SELECT FROM public.deliveries WHERE endpoint_id = $1 AND status = s.status AND next_attempt_at IS NOT NULL
        ORDER BY next_attempt_at LIMIT ${MAX_COUNT + 1}
      ) open LIMIT ${MAX_COUNT + 1}
    ) w
  ) AS waiting, (
    SELECT a.error FROM (
      SELECT newest.* FROM unnest(ARRAY['pending', 'held', 'exhausted']) AS s (status) CROSS JOIN LATERAL (
        SELECT id, attempt_count FROM public.deliveries
        WHERE ${below('$1', 's.status', LAST)} ${NEWEST_FIRST} LIMIT ${NEWEST}
      ) newest
    ) d JOIN public.attempts a ON a.delivery_id = d.id AND a.number = d.attempt_count
    ORDER BY a.started_at DESC LIMIT 1
  ) AS error`

const store = statement('store-failure-message')`
  WITH stored AS (
    INSERT INTO events (id, account_id, account_key, type, body) VALUES ($1, $2, '', 'notification.requested', $3)
    RETURNING id, account_id
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, status, next_attempt_at)
  SELECT s.account_id, s.id, p.id, CASE WHEN p.enabled THEN 'pending' ELSE 'held' END, $4
  FROM stored s CROSS JOIN (SELECT id, enabled FROM endpoints WHERE id = $2 FOR SHARE) p`

const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z')

const failureOf = async (
  tx: OpenTransaction,
  { endpointId, url, since }: { endpointId: number; url: string; since: string },
  disableAfterMs: number,
): Promise<EndpointFailure> => {
  readInOrder(tx)
  const [details] = await detailsOf(tx, endpointId)
  const { host, pathname } = new URL(url)
  return {
    ...{ endpointId, address: host + pathname, since },
    waiting: details!.waiting,
    error: details!.error ?? undefined,
    disabledAt: Number.isFinite(disableAfterMs) ? instant(Date.parse(since) + disableAfterMs) : undefined,
  }
}

/**
 * Stores the message to an account's contact about an endpoint that has only failed for 24 hours, and marks the failure as
 * notified in the same transaction: one message for each period of failure, however often it is called. Throws invalid.
 */
export const notifyContact: Operation<
  'notifyContact',
  'notifications' | 'clock' | 'disableAfterMs' | 'wake'
> = async ({ notifications, clock, disableAfterMs, wake }, { endpointId, accountName, contactEmail }) => {
  validate({ contact_email: contactEmail.includes('@') || 'must be an e-mail address' })
  const now = instant(clock.now().getTime())
  const isStored = await notifications.transaction(async (tx) => {
    const [found] = await markNotified(tx, endpointId, notifiedSince(clock), now)
    if (!found) return false
    const { accountId } = found
    const eventId = randomUUID()
    const event = NotificationRequested.fromPartial({
      ...{ eventId, accountId, accountName, subject: 'webhook_endpoint.failing', requestedAt: now },
      userEmail: contactEmail,
      failure: await failureOf(tx, { endpointId, ...found }, disableAfterMs),
    })
    await ensureMailbox(tx, accountId)
    const body = Buffer.from(NotificationRequested.encode(event).finish())
    await store(tx, eventId, accountId, body, now)
    return true
  })
  if (isStored) wake('notifications')
  return {}
}
