import { randomUUID } from 'node:crypto'
import { EVENT_TYPES, type EventType } from '@leadwire/contracts'
import { differences, newTraceparent, recordAudit, ServiceError } from '@leadwire/service-kit'
import { isHeaderValue, validate } from '../arguments'
import type { Operation } from '../operation'
import { statement } from '../statement'
import { DELIVERY_COLUMNS, deliveryOf } from './delivery-row'
import samples from './samples.json'

/** No lead gets this reference. */
const REFERENCE = '00000000-0000-4000-8000-000000000000'

const SAMPLES: Record<EventType, object> = samples

const subscribed = statement<{ events: string[] }>('types-of-endpoint')`
  SELECT events FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE`

const store = statement('test-webhook-endpoint')`
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
 * Sends a sample of the first type of event that an endpoint subscribes to, like any event: signed, recorded, retried, and held
 * while the endpoint is disabled. A sample has no number. Throws invalid and not_found.
 */
export const testWebhookEndpoint: Operation<
  'testWebhookEndpoint',
  'database' | 'actor' | 'clock' | 'wake'
> = async ({ database, actor, clock, wake }, { accountId, endpointId, accountKey }) => {
  validate({ account_key: isHeaderValue(accountKey) || 'must be a header value' })
  const now = clock.now().toISOString()
  const delivery = await database.transaction(async (tx) => {
    const key = [accountId, endpointId]
    const [endpoint] = await subscribed(tx, ...key)
    if (!endpoint) throw new ServiceError('not_found', 'There is no such webhook endpoint.')
    const type: EventType = EVENT_TYPES.find((each) => endpoint.events.includes(each)) ?? 'lead.created'
    const body = Buffer.from(JSON.stringify(SAMPLES[type]).replaceAll('{now}', now.replace('Z', '000Z')))
    const values = [...key, randomUUID(), accountKey, REFERENCE, body, newTraceparent(), now, type]
    const [row] = await store(tx, ...values)
    // The statement does not see the event that it stores.
    const stored = deliveryOf({ ...row, event: type })
    const changes = differences({}, { delivery_id: stored.id })
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.tested', targetId: endpointId, changes })
    return stored
  })
  wake('webhooks')
  return { delivery }
}
