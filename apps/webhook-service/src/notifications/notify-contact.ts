import { type EndpointFailure, type FailingEndpoint, NotificationRequested } from '@leadwire/contracts'
import { type Database, newEventId, type OpenTransaction, statement } from '@leadwire/service-kit'
import { LRUCache } from 'lru-cache'
import { type Clock, microseconds } from '../clock'
import { HIGHEST_ID, isBelow, NEWEST_FIRST, readInOrder } from '../delivery-sql'
import type { Operation } from '../operation'
import { MAX_COUNT } from './compose-message'
import { storeNotification } from './store-notification'

/** The contact of an account is notified when all attempts at an endpoint have failed for this long. */
const NOTIFY_AFTER_MS = 24 * 3_600_000
/** How many of the newest deliveries of each status are searched for the last attempt. */
const NEWEST = 1000

/**
 * Creates the mailbox of an account if it does not exist yet. The mailbox is the endpoint of the account's
 * notifications, and has the same id as the account. The mailbox has no secret, because e-mails are not
 * signed.
 */
const ensureMailbox = statement('ensure-mailbox')`
  INSERT INTO endpoints (id, account_id, url, enabled) OVERRIDING SYSTEM VALUE
  VALUES ($1, $1, 'mailto:', true) ON CONFLICT DO NOTHING`

/**
 * Returns the function that creates the mailbox for the account of an event. The function remembers known
 * accounts, so it usually runs the statement only once for each account.
 */
export const createMailboxes = (database: Database) => {
  const known = new LRUCache<number, object>({
    max: 100_000,
    fetchMethod: (accountId) => ensureMailbox(database, accountId),
  })
  return ({ accountId }: { accountId: number }) => known.fetch(accountId)
}

const listFailing = statement<FailingEndpoint>('list-failing-endpoints')`
  SELECT p.id AS "endpointId", p.account_id AS "accountId"
  FROM endpoint_failures f JOIN endpoints p ON p.id = f.endpoint_id
  WHERE f.notified_at IS NULL AND f.since <= $1 AND f.endpoint_id > $2 AND p.enabled AND p.deleted_at IS NULL
  ORDER BY f.endpoint_id LIMIT 1000`

/** Returns the time 24 hours ago. An endpoint is reported if it began to fail at this time or earlier. */
const computeLatestStart = (clock: Clock): Date => new Date(clock.now().getTime() - NOTIFY_AFTER_MS)

/**
 * Returns endpoints of all accounts, in the order of their ids. All attempts at these endpoints have failed
 * for 24 hours, and the contacts of their accounts have not been notified yet.
 */
export const listFailingEndpoints: Operation<'listFailingEndpoints'> = async (
  { database, clock },
  { afterEndpointId = 0 },
) => ({ endpoints: await listFailing(database, computeLatestStart(clock), afterEndpointId) })

// Names the schema `public`, because the connection uses the schema of notifications.
const markNotified = statement<{ accountId: number; url: string; since: string }>('mark-as-notified')`
  UPDATE public.endpoint_failures f SET notified_at = :now FROM public.endpoints p
  WHERE f.endpoint_id = :endpointId AND f.notified_at IS NULL AND f.since <= :latest AND p.id = f.endpoint_id
  RETURNING p.account_id AS "accountId", p.url, f.since`

const selectDetails = statement<{ waiting: number; error: string | null }>('details-of-failure')`
  SELECT (
    SELECT count(*)::int FROM (
      SELECT FROM public.deliveries WHERE endpoint_id = $1 AND status IN ('pending', 'held')
      LIMIT ${MAX_COUNT + 1}
    ) w
  ) AS waiting, (
    SELECT a.error FROM (
      SELECT newest.* FROM unnest(ARRAY['pending', 'held', 'exhausted']) AS s (status) CROSS JOIN LATERAL (
        SELECT id, attempt_count FROM public.deliveries
        WHERE ${isBelow('$1', 's.status', HIGHEST_ID)} ${NEWEST_FIRST} LIMIT ${NEWEST}
      ) newest
    ) d JOIN public.attempts a ON a.delivery_id = d.id AND a.number = d.attempt_count
    ORDER BY a.started_at DESC LIMIT 1
  ) AS error`

const describeFailure = async (
  tx: OpenTransaction,
  { endpointId, url, since }: { endpointId: number; url: string; since: string },
  disableAfterMs: number,
): Promise<EndpointFailure> => {
  readInOrder(tx)
  const [details] = await selectDetails(tx, endpointId)
  const { host, pathname } = new URL(url)
  const willBeDisabled = Number.isFinite(disableAfterMs)
  return {
    endpointId,
    address: host + pathname,
    since,
    waiting: details!.waiting,
    error: details!.error ?? undefined,
    disabledAt: willBeDisabled ? microseconds(new Date(Date.parse(since) + disableAfterMs)) : undefined,
  }
}

/**
 * Stores the message about an endpoint at which all attempts have failed for 24 hours. Stores only one
 * message until the endpoint recovers.
 */
export const notifyContact: Operation<'notifyContact'> = async (
  { notifications, clock, disableAfterMs, wake },
  { endpointId, accountName, contactEmail },
) => {
  const now = microseconds(clock.now())
  const isStored = await notifications.transaction(async (tx) => {
    const [found] = await markNotified(tx, { endpointId, latest: computeLatestStart(clock), now })
    if (!found) return false
    const { accountId } = found
    const event = NotificationRequested.fromPartial({
      eventId: newEventId(),
      accountId,
      accountName,
      subject: 'webhook_endpoint.failing',
      requestedAt: now,
      userEmail: contactEmail,
      failure: await describeFailure(tx, { endpointId, ...found }, disableAfterMs),
    })
    await ensureMailbox(tx, accountId)
    await storeNotification(tx, event, now)
    return true
  })
  if (isStored) wake('notifications')
  return {}
}
