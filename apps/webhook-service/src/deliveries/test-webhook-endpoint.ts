import { randomUUID } from 'node:crypto'
import {
  EVENT_TYPES,
  type EventType,
  exampleOf,
  LEAD_EVENT_TYPES,
  Lead,
  LeadListItem,
} from '@leadwire/contracts'
import { differences, newTraceparent, recordAudit, statement, theRow } from '@leadwire/service-kit'
import { isHeaderValue, isOneOf, validate } from '../arguments'
import { microseconds } from '../clock'
import { DELIVERY_COLUMNS, deliveryOf, includesAttributes } from '../delivery-sql'
import { failedKeys, matchColumn } from '../endpoints/filter'
import type { Operation } from '../operation'
import samples from './samples.json'

/** No lead gets this reference. */
const REFERENCE = '00000000-0000-4000-8000-000000000000'

// Records have ids from 1 on: a receiver that stores the sample overwrites none.
const withoutIds = (name: string, value: unknown) => {
  if (/(^|_)id$/.test(name)) return 0
  return /_at$/.test(name) ? '{now}' : value
}

const sampleOf = (schema: typeof Lead | typeof LeadListItem) => ({
  ...JSON.parse(JSON.stringify(exampleOf(schema, ['product_style'])), withoutIds),
  ...{ reference: REFERENCE, name: 'Sample lead', status: 'test', test: 1 },
  description: 'This is a test of your webhook endpoint. No customer asked for anything.',
})

const CHANGES = [{ field: 'status', from: 'open', to: 'test' }]

const changedEntry = (type: EventType, cancelled_at: '{now}' | null) => ({
  type,
  data: { ...samples['appointment.scheduled'].data, cancelled_at },
})

const SAMPLES: Record<EventType, object> = {
  'lead.created': { data: sampleOf(Lead) },
  'lead.updated': { type: 'lead.updated', data: { ...sampleOf(LeadListItem), changes: CHANGES } },
  ...samples,
  'appointment.rescheduled': changedEntry('appointment.rescheduled', null),
  'appointment.cancelled': changedEntry('appointment.cancelled', '{now}'),
  'callback.rescheduled': changedEntry('callback.rescheduled', null),
  'callback.cancelled': changedEntry('callback.cancelled', '{now}'),
}

const isOfLead = (type: EventType) => LEAD_EVENT_TYPES.some((each) => each === type)

const subscribed = statement<{ events: string[]; failed: string[] }>('types-of-endpoint')`
  SELECT events, ${failedKeys('filter', '$3::jsonb')} AS failed FROM endpoints WHERE account_id = $1 AND id = $2 AND deleted_at IS NULL FOR SHARE`

/** Stores an event, with a delivery for each of the endpoints $2 of the account $1. */
export const storeForEndpoints = statement('store-for-endpoints')`
  WITH receiving AS (
    SELECT id, account_id, enabled, include FROM endpoints
    WHERE account_id = $1 AND id = ANY ($2::bigint[]) AND deleted_at IS NULL ORDER BY id FOR SHARE
  ), stored AS (
    INSERT INTO events (id, account_id, account_key, lead_reference, body, traceparent, type, lead_version, sample)
    SELECT $3::uuid, account_id, $4, $5::uuid, $6, $7, $9, $10, $11 FROM receiving LIMIT 1
    RETURNING id, account_id, lead_reference
  )
  INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, next_attempt_at, with_attributes)
  SELECT s.account_id, s.id, r.id, s.lead_reference, CASE WHEN r.enabled THEN 'pending' ELSE 'held' END, $8, ${includesAttributes('r')}
  FROM stored s CROSS JOIN receiving r
  RETURNING ${DELIVERY_COLUMNS}`

/**
 * Sends a sample of a type, or of the first that an endpoint subscribes to, like an event without a number. Whether the lead of `match`
 * passes the filter changes nothing of that. Throws invalid and not_found.
 */
export const testWebhookEndpoint: Operation<'testWebhookEndpoint'> = async (
  { database, actor, clock, wake },
  { accountId, endpointId, accountKey, type: asked, match },
) => {
  validate({
    account_key: isHeaderValue(accountKey) || 'must be a header value',
    type: isOneOf(EVENT_TYPES, asked),
  })
  const now = clock.now()
  const tested = await database.transaction(async (tx) => {
    const key = [accountId, endpointId]
    const { events, failed } = theRow(await subscribed(tx, ...key, matchColumn(match)), 'webhook endpoint')
    const first = EVENT_TYPES.find((each) => events.includes(each)) ?? 'lead.created'
    const type = (asked as EventType | undefined) ?? first
    const body = Buffer.from(JSON.stringify(SAMPLES[type]).replaceAll('{now}', microseconds(now)))
    const values = [randomUUID(), accountKey, REFERENCE, body, newTraceparent(), now, type]
    const version = isOfLead(type) ? 1 : null
    const [row] = await storeForEndpoints(tx, accountId, [endpointId], ...values, version, true)
    // The statement does not see the event that it stores.
    const stored = deliveryOf({ ...row, event: type })
    const changes = differences({}, { delivery_id: stored.id })
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.tested', targetId: endpointId, changes })
    return { delivery: stored, filter: match && { passes: failed.length === 0, failed } }
  })
  wake('webhooks')
  return tested
}
