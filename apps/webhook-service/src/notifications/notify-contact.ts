import { randomUUID } from 'node:crypto'
import {
  type EndpointFailure,
  NotificationRequested,
  type NotifyContactRequest,
  type NotifyContactResponse,
} from '@leadwire/contracts'
import { type Database, type OpenTransaction, ServiceError } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { below, LAST, NEWEST_FIRST, readInOrder } from '../endpoints/delivery-ranges'
import { toldSince } from '../endpoints/list-failing-endpoints'
import { ensureMailbox } from './ensure-mailbox'

/** Deliveries that wait are counted so far. A message says no more of them. */
export const COUNTED_AT_MOST = 10_000
/** Of so many of the newest deliveries of each status the last attempt is looked for. */
const LOOKED_AT = 1000

// The connection is that of notifications.
const MARK = `
  UPDATE public.endpoint_failures f SET told_at = $3 FROM public.endpoints p
  WHERE f.endpoint_id = $1 AND f.told_at IS NULL AND f.since <= $2 AND p.id = f.endpoint_id
  RETURNING p.account_id AS "accountId", p.url, f.since`

const LOOK = `
  SELECT (
    SELECT count(*)::int FROM (
      SELECT FROM unnest(ARRAY['pending', 'held']) AS s (status) CROSS JOIN LATERAL (
        SELECT FROM public.deliveries WHERE endpoint_id = $1 AND status = s.status AND next_attempt_at IS NOT NULL
        ORDER BY next_attempt_at LIMIT ${COUNTED_AT_MOST + 1}
      ) open LIMIT ${COUNTED_AT_MOST + 1}
    ) w
  ) AS waiting, (
    SELECT a.error FROM (
      SELECT newest.* FROM unnest(ARRAY['pending', 'held', 'exhausted']) AS s (status) CROSS JOIN LATERAL (
        SELECT id, attempt_count FROM public.deliveries
        WHERE ${below('$1', 's.status', LAST)} ${NEWEST_FIRST} LIMIT ${LOOKED_AT}
      ) newest
    ) d JOIN public.attempts a ON a.delivery_id = d.id AND a.number = d.attempt_count
    ORDER BY a.started_at DESC LIMIT 1
  ) AS error`

const STORE = `
  WITH stored AS (
    INSERT INTO events (id, account_id, account_key, type, body) VALUES ($1, $2, '', 'notification.requested', $3)
    RETURNING id, account_id
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, status, next_attempt_at)
  SELECT s.account_id, s.id, p.id, CASE WHEN p.enabled THEN 'pending' ELSE 'held' END, $4
  FROM stored s CROSS JOIN (SELECT id, enabled FROM endpoints WHERE id = $2 FOR SHARE) p`

/** Microseconds are no matter here. */
const instant = (ms: number): string => new Date(ms).toISOString().replace('Z', '000Z')

const failureOf = async (
  tx: OpenTransaction,
  found: { endpointId: number; url: string; since: string },
  disableAfterMs: number,
): Promise<EndpointFailure> => {
  const { endpointId, url, since } = found
  readInOrder(tx)
  const [look] = await tx.query<{ waiting: number; error: string | null }>({
    name: 'look-at-failing',
    text: LOOK,
    values: [endpointId],
  })
  const { host, pathname } = new URL(url)
  return {
    endpointId,
    address: host + pathname,
    since,
    waiting: look!.waiting,
    error: look!.error ?? undefined,
    disabledAt: Number.isFinite(disableAfterMs) ? instant(Date.parse(since) + disableAfterMs) : undefined,
  }
}

/**
 * Stores the message to an account's contact about an endpoint that has only failed for 24 hours, together with the mark that it
 * was told: so there is one for each period of failure, whoever asks and how often. Another endpoint changes nothing.
 */
export const notifyContact = async (
  dependencies: {
    notifications: Database
    clock: Clock
    disableAfterMs: number
    wakeNotifier: () => void
  },
  { endpointId, accountName, contactEmail }: NotifyContactRequest,
): Promise<NotifyContactResponse> => {
  const { notifications, clock, disableAfterMs, wakeNotifier } = dependencies
  if (!contactEmail.includes('@'))
    throw ServiceError.invalid({ contact_email: ['must be an e-mail address'] })
  const now = instant(clock.now().getTime())
  const told = await notifications.transaction(async (tx) => {
    const [found] = await tx.query<{ accountId: number; url: string; since: string }>({
      name: 'mark-failing-told',
      text: MARK,
      values: [endpointId, toldSince(clock), now],
    })
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
    await tx.query({ name: 'store-failing', text: STORE, values: [eventId, accountId, body, now] })
    return true
  })
  if (told) wakeNotifier()
  return {}
}
