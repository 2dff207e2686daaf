import { setTimeout as pause } from 'node:timers/promises'
import {
  buildExampleRecord,
  EVENT_TYPES,
  type EventType,
  LEAD_EVENT_TYPES,
  Lead,
  LeadListItem,
} from '@leadwire/contracts'
import {
  type Database,
  differences,
  newEventId,
  newTraceparent,
  recordAudit,
  requirePart,
  statement,
  theRow,
} from '@leadwire/service-kit'
import { microseconds } from '../clock'
import { readDelivery } from '../delivery-sql'
import { failedKeys, renderMatchColumn } from '../endpoints/filter'
import type { Operation } from '../operation'
import { findDelivery } from './retrieve-delivery'
import samples from './samples.json'
import { storeForEndpoints } from './store-for-endpoints'

/** The reference of samples. No lead has this reference. */
const REFERENCE = '00000000-0000-4000-8000-000000000000'

// The ids of a sample are 0. Real ids start at 1, so a receiver that stores the sample overwrites no record.
const replaceIdsAndTimes = (name: string, value: unknown) => {
  if (/(^|_)id$/.test(name)) return 0
  return /_at$/.test(name) ? '{now}' : value
}

const buildSample = (schema: typeof Lead | typeof LeadListItem) => ({
  ...JSON.parse(JSON.stringify(buildExampleRecord(schema, ['product_style'])), replaceIdsAndTimes),
  reference: REFERENCE,
  name: 'Sample lead',
  status: 'test',
  test: 1,
  description: 'This is a test of your webhook endpoint. No customer asked for anything.',
})

const CHANGES = [{ field: 'status', from: 'open', to: 'test' }]

const buildEntry = (type: EventType, cancelled_at: '{now}' | null) => ({
  type,
  data: { ...samples['appointment.scheduled'].data, cancelled_at, done_at: null, remind: false },
})

const SAMPLES: Record<EventType, object> = {
  'lead.created': { data: buildSample(Lead) },
  'lead.updated': { type: 'lead.updated', data: { ...buildSample(LeadListItem), changes: CHANGES } },
  ...samples,
  'appointment.rescheduled': buildEntry('appointment.rescheduled', null),
  'appointment.cancelled': buildEntry('appointment.cancelled', '{now}'),
  'callback.rescheduled': buildEntry('callback.rescheduled', null),
  'callback.cancelled': buildEntry('callback.cancelled', '{now}'),
  'appointment.due': buildEntry('appointment.due', null),
  'callback.due': buildEntry('callback.due', null),
}

const isAboutLead = (type: EventType) => LEAD_EVENT_TYPES.some((each) => each === type)

const lockSubscription = statement<{ events: string[]; failed: string[] }>('types-of-endpoint')`
  SELECT events, ${failedKeys('filter', ':match::jsonb')} AS failed FROM endpoints
  WHERE account_id = :accountId AND id = :endpointId AND deleted_at IS NULL FOR SHARE`

/** Renders the body of a sample. Throws `bad_request` for an unknown type. */
const renderBody = (type: EventType, now: Date): Buffer => {
  const sample = requirePart(SAMPLES[type], 'known type')
  return Buffer.from(JSON.stringify(sample).replaceAll('{now}', microseconds(now)))
}

/**
 * Stores a sample event and its delivery. The sample has the requested type, or else the first type that the
 * endpoint subscribes to. The sample is not in the log of the account. The sample is sent even if the lead
 * that `match` describes does not pass the filter of the endpoint. The response says whether that lead
 * passes. Throws `not_found`.
 */
export const testWebhookEndpoint: Operation<'testWebhookEndpoint'> = async (
  { database, actor, clock, wake },
  { accountId, endpointId, accountKey, type: requestedType, match },
) => {
  const now = clock.now()
  const tested = await database.transaction(async (tx) => {
    const rows = await lockSubscription(tx, { accountId, endpointId, match: renderMatchColumn(match) })
    const { events, failed } = theRow(rows, 'webhook endpoint')
    const subscribedType = EVENT_TYPES.find((each) => events.includes(each)) ?? 'lead.created'
    const type = (requestedType as EventType | undefined) ?? subscribedType
    const [row] = await storeForEndpoints(tx, {
      accountId,
      endpointIds: [endpointId],
      eventId: newEventId(),
      type,
      accountKey,
      leadReference: REFERENCE,
      leadVersion: isAboutLead(type) ? 1 : null,
      body: renderBody(type, now),
      traceparent: newTraceparent(),
      isSample: true,
      dueAt: now,
    })
    const stored = readDelivery({ ...row, event: type })
    const changes = differences({}, { delivery_id: stored.id })
    recordAudit(tx, actor, { accountId, action: 'webhook_endpoint.tested', targetId: endpointId, changes })
    return { delivery: stored, filter: match && { passes: failed.length === 0, failed } }
  })
  wake('webhooks')
  return tested
}

/** The longest time that a call waits for the attempt. The attempt itself may take longer. */
const WAIT_MS = 5000
const POLL_MS = 100

/**
 * Waits until the first attempt of a delivery has ended. Waits at most 5 s, and stops early when a drain
 * starts or when the delivery is no longer pending. Resolves with the delivery and its first attempt.
 * `attempt` is undefined if no attempt has ended. Polls the database, because another process may make the
 * attempt.
 */
export const waitForAttempt = async (
  database: Database,
  key: { accountId: number; deliveryId: number },
  draining: AbortSignal,
) => {
  const until = performance.now() + WAIT_MS
  for (;;) {
    const { delivery, attempts } = await findDelivery(database, key, 'delivery')
    const isOver = attempts.length > 0 || delivery.status !== 'pending'
    if (isOver || draining.aborted || performance.now() >= until) return { delivery, attempt: attempts[0] }
    await pause(POLL_MS)
  }
}
