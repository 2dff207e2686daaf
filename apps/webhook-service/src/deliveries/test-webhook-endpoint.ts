import { randomUUID } from 'node:crypto'
import {
  type Actor,
  EVENT_TYPES,
  type EventType,
  type TestWebhookEndpointRequest,
  type TestWebhookEndpointResponse,
} from '@leadwire/contracts'
import { type Database, differences, newTraceparent, recordAudit, ServiceError } from '@leadwire/service-kit'
import type { Clock } from '../clock'
import { isHeaderValue } from '../header-value'
import { DELIVERY_COLUMNS, deliveryOf } from './delivery-row'
import { sampleEvent } from './sample-event'

const SUBSCRIBED =
  'SELECT events FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE'

const STORE = `
  WITH receiving AS (
    SELECT id, account_id, enabled FROM endpoints
    WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE
  ), stored AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, traceparent, type, lead_version, sample)
    SELECT $3::uuid, account_id, $4, $5::uuid, $6, $7, $9, 1, true FROM receiving
    RETURNING id, account_id, lead_reference
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at)
  SELECT s.account_id, s.id, r.id, s.lead_reference, CASE WHEN r.enabled THEN 'pending' ELSE 'held' END, $8
  FROM stored s CROSS JOIN receiving r
  RETURNING ${DELIVERY_COLUMNS}`

/**
 * Sends a sample of the first type of event that an endpoint subscribes to, the ordinary way: signed, recorded, retried, and held while the
 * endpoint is disabled. The event is marked as a sample: it has no number, and no outbox knows it. Throws invalid and not_found.
 */
export const testWebhookEndpoint = async (
  dependencies: {
    database: Database
    actor?: Actor | undefined
    clock: Clock
    wake: () => void
  },
  { accountId, endpointId, accountKey }: TestWebhookEndpointRequest,
): Promise<TestWebhookEndpointResponse> => {
  const { database, actor, clock, wake } = dependencies
  if (!isHeaderValue(accountKey)) throw ServiceError.invalid({ account_key: ['must be a header value'] })
  const now = clock.now().toISOString()
  const delivery = await database.transaction(async (tx) => {
    const key = [accountId, endpointId]
    const [subscribed] = await tx.query<{ events: string[] }>({
      name: 'types-of-endpoint',
      text: SUBSCRIBED,
      values: key,
    })
    if (!subscribed) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
    const type: EventType = EVENT_TYPES.find((each) => subscribed.events.includes(each)) ?? 'lead.created'
    const { leadReference, body } = sampleEvent(type, now.replace('Z', '000Z'))
    const values = [...key, randomUUID(), accountKey, leadReference, body, newTraceparent(), now, type]
    const [row] = await tx.query<object>({ name: 'test-webhook-endpoint', text: STORE, values })
    // The statement that stores the event does not see it yet.
    const stored = deliveryOf({ ...row, event: type })
    const changes = differences({}, { delivery_id: stored.id })
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.tested', targetId: endpointId, changes })
    return stored
  })
  wake()
  return { delivery }
}
