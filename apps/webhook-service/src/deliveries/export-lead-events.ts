import { type ExportLeadEventsRequest, isUuid, NotificationRequested, snakeCase } from '@leadwire/contracts'
import { type Database, statement } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, readDelivery } from '../delivery-sql'
import type { Operation } from '../operation'
import { readAttempts } from './retrieve-delivery'

/**
 * The limits of an export, which keep the export within one gRPC message. They apply to webhooks and to
 * notifications separately.
 */
const EVENTS = 100
const DELIVERIES = 500
const BODY_BYTES = 8_000_000

const selectEvents = statement<{ id: string; createdAt: string; body: Buffer | null }>('export-events')`
  SELECT id, created_at AS "createdAt",
    CASE WHEN sum(octet_length(body)) OVER (ORDER BY created_at DESC, id) <= ${BODY_BYTES} THEN body END AS body
  FROM (
    SELECT id, account_id, lead_reference, created_at, coalesce(body_with_attributes, body) AS body FROM events
  ) e
  WHERE lead_reference = $2 AND account_id = $1
  ORDER BY created_at DESC, id LIMIT ${EVENTS + 1}`

const selectDeliveries = statement('export-deliveries')`
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE event_id = ANY ($1::uuid[])
  ORDER BY id DESC LIMIT ${DELIVERIES + 1}`

const exportFrom = async (
  database: Database,
  { accountId, leadReference }: ExportLeadEventsRequest,
  renderText: (body: Buffer) => string,
) => {
  const rows = await selectEvents(database, accountId, leadReference)
  const events = rows.slice(0, EVENTS)
  const eventIds = events.map(({ id }) => id)
  const found = await selectDeliveries(database, eventIds)
  const deliveries = await readAttempts(database, found.slice(0, DELIVERIES).map(readDelivery))
  const hasAllBodies = events.every(({ body }) => body !== null)
  return {
    events: events.map(({ id, createdAt, body }) => ({
      id,
      createdAt,
      body: body === null ? undefined : renderText(body),
      deliveries: deliveries.filter(({ delivery }) => delivery.eventId === id),
    })),
    complete: rows.length <= EVENTS && found.length <= DELIVERIES && hasAllBodies,
  }
}

/** Renders the body of a notification as JSON. */
const renderNotification = (body: Buffer): string => {
  const fields = Object.entries(NotificationRequested.decode(body))
  return JSON.stringify(Object.fromEntries(fields.map(([field, value]) => [snakeCase(field), value])))
}

/**
 * Exports the newest events and notifications of a lead with their deliveries and attempts. `complete` is
 * false if a limit has left out a part.
 */
export const exportLeadEvents: Operation<'exportLeadEvents'> = async (
  { database, notifications },
  request,
) => {
  if (!isUuid(request.leadReference)) return { webhooks: [], notifications: [], complete: true }
  const [webhooks, messages] = await Promise.all([
    exportFrom(database, request, (body) => body.toString()),
    exportFrom(notifications, request, renderNotification),
  ])
  const complete = webhooks.complete && messages.complete
  return { webhooks: webhooks.events, notifications: messages.events, complete }
}
