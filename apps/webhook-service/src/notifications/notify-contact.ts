import { randomUUID } from 'node:crypto'
import { type EndpointFailure, type FailingEndpoint, NotificationRequested } from '@leadwire/contracts'
import { type Database, type OpenTransaction, statement } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { validate } from '../arguments'
import { type Clock, microseconds } from '../clock'
import { storeForEndpoints } from '../deliveries/test-webhook-endpoint'
import { below, LAST, NEWEST_FIRST, readInOrder } from '../delivery-sql'
import type { Operation } from '../operation'
import { MAX_COUNT } from './compose-message'

/** The account's contact is notified of an endpoint that has only failed for so long. */
const NOTIFY_AFTER_MS = 24 * 3_600_000
/** The last attempt is searched among so many of the newest deliveries of each status. */
const NEWEST = 1000

/** Creates the endpoint of an account's notifications, unless it exists. Its id is the account's. It has no secret: nothing is signed. */
const ensureMailbox = statement('ensure-mailbox')`
  INSERT INTO endpoints (id, account_id, url, enabled) OVERRIDING SYSTEM VALUE
  VALUES ($1, $1, 'mailto:', true) ON CONFLICT DO NOTHING`

/** The same for the account of an event, with one statement for each account and process. */
export const createMailboxes = (database: Database) => {
  const known = new LRUCache<number, object>({
    ...{ max: 100_000, fetchMethod: (accountId) => ensureMailbox(database, accountId) },
  })
  return ({ accountId }: { accountId: number }) => known.fetch(accountId)
}

const listFailing = statement<FailingEndpoint>('list-failing-endpoints')`
  SELECT p.id AS "endpointId", p.account_id AS "accountId"
  FROM endpoint_failures f JOIN endpoints p ON p.id = f.endpoint_id
  WHERE f.notified_at IS NULL AND f.since <= $1 AND f.endpoint_id > $2 AND p.enabled AND p.deleted_at IS NULL
  ORDER BY f.endpoint_id LIMIT 1000`

/** The latest start of a failure of which the contact is notified now. */
const notifiedSince = (clock: Clock): Date => new Date(clock.now().getTime() - NOTIFY_AFTER_MS)

/** Endpoints of all accounts that have only failed for 24 hours, and of which no contact was notified, by id. */
export const listFailingEndpoints: Operation<'listFailingEndpoints'> = async (
  { database, clock },
  { afterEndpointId = 0 },
) => ({ endpoints: await listFailing(database, notifiedSince(clock), afterEndpointId) })

// Schemas are named: the connection is that of notifications.
const markNotified = statement<{ accountId: number; url: string; since: string }>('mark-as-notified')`
  UPDATE public.endpoint_failures f SET notified_at = $3 FROM public.endpoints p
  WHERE f.endpoint_id = $1 AND f.notified_at IS NULL AND f.since <= $2 AND p.id = f.endpoint_id
  RETURNING p.account_id AS "accountId", p.url, f.since`

const detailsOf = statement<{ waiting: number; error: string | null }>('details-of-failure')`
  SELECT (
    SELECT count(*)::int FROM (
      SELECT FROM public.deliveries WHERE endpoint_id = $1 AND status IN ('pending', 'held') LIMIT ${MAX_COUNT + 1}
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

const failureOf = async (
  tx: OpenTransaction,
  { endpointId, url, since }: { endpointId: number; url: string; since: string },
  disableAfterMs: number,
): Promise<EndpointFailure> => {
  readInOrder(tx)
  const [details] = await detailsOf(tx, endpointId)
  const { host, pathname } = new URL(url)
  const willBeDisabled = Number.isFinite(disableAfterMs)
  return {
    ...{ endpointId, address: host + pathname, since },
    waiting: details!.waiting,
    error: details!.error ?? undefined,
    disabledAt: willBeDisabled ? microseconds(new Date(Date.parse(since) + disableAfterMs)) : undefined,
  }
}

/** Stores the message about an endpoint that has only failed for 24 hours: one for each period of failure. Throws invalid. */
export const notifyContact: Operation<'notifyContact'> = async (
  { notifications, clock, disableAfterMs, wake },
  { endpointId, accountName, contactEmail },
) => {
  validate({ contact_email: contactEmail.includes('@') || 'must be an e-mail address' })
  const now = microseconds(clock.now())
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
    const values = [eventId, '', null, body, null, now, 'notification.requested', null, false]
    // Its mailbox has the account's id.
    await storeForEndpoints(tx, accountId, [accountId], ...values)
    return true
  })
  if (isStored) wake('notifications')
  return {}
}
