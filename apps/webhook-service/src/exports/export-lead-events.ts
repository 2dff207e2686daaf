import {
  Attempt,
  type ExportedEvent,
  type ExportLeadEventsRequest,
  type ExportLeadEventsResponse,
  NotificationRequested,
} from '@leadwire/contracts'
import type { Database } from '@leadwire/service-kit'
import { DELIVERY_COLUMNS, deliveryOf } from '../deliveries/delivery-row'
import { isUuid } from '../uuid'

/** The events, and the deliveries of them, that an export has at most; what they come to fits into one message. */
const EVENTS = 100
const DELIVERIES = 500
const BODY_BYTES = 8_000_000

// The newest bodies, until they would be too many.
const SELECT_EVENTS = `
  SELECT id, created_at AS "createdAt",
    CASE WHEN sum(octet_length(body)) OVER (ORDER BY created_at DESC, id) <= ${BODY_BYTES} THEN body END AS body
  FROM events WHERE lead_reference = $2 AND account_id = $1
  ORDER BY created_at DESC, id LIMIT ${EVENTS + 1}`

const SELECT_DELIVERIES = `
  SELECT ${DELIVERY_COLUMNS} FROM deliveries WHERE event_id = ANY ($1::uuid[]) ORDER BY id DESC LIMIT ${DELIVERIES + 1}`

const SELECT_ATTEMPTS = `
  SELECT delivery_id AS "deliveryId", number, started_at AS "startedAt", duration_ms AS "durationMs", status, error, response
  FROM attempts WHERE delivery_id = ANY ($1::bigint[]) ORDER BY delivery_id, number`

interface EventRow {
  id: string
  createdAt: string
  body: Buffer | null
}

const exportOf = async (
  database: Database,
  { accountId, leadReference }: ExportLeadEventsRequest,
  textOf: (body: Buffer) => string,
): Promise<{ events: ExportedEvent[]; complete: boolean }> => {
  const rows = await database.query<EventRow>({
    name: 'export-events',
    text: SELECT_EVENTS,
    values: [accountId, leadReference],
  })
  const shown = rows.slice(0, EVENTS)
  const found = await database.query<object>({
    name: 'export-deliveries',
    text: SELECT_DELIVERIES,
    values: [shown.map(({ id }) => id)],
  })
  const deliveries = found.slice(0, DELIVERIES).map(deliveryOf)
  const attempts = await database.query<Attempt & { deliveryId: number }>({
    name: 'export-attempts',
    text: SELECT_ATTEMPTS,
    values: [deliveries.map(({ id }) => id)],
  })
  const attemptsOf = (deliveryId: number) =>
    attempts
      .filter((attempt) => attempt.deliveryId === deliveryId)
      .map((attempt) => Attempt.fromPartial(attempt))
  const events = shown.map(({ id, createdAt, body }) => ({
    ...{ id, createdAt, body: body === null ? undefined : textOf(body) },
    deliveries: deliveries
      .filter(({ eventId }) => eventId === id)
      .map((delivery) => ({ delivery, attempts: attemptsOf(delivery.id) })),
  }))
  const bodies = shown.every(({ body }) => body !== null)
  return { events, complete: bodies && rows.length <= EVENTS && found.length <= DELIVERIES }
}

const inSnakeCase = (field: string) => field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const messageText = (body: Buffer): string => {
  const fields = Object.entries(NotificationRequested.decode(body))
  return JSON.stringify(Object.fromEntries(fields.map(([field, value]) => [inSnakeCase(field), value])))
}

/** All that is held of a lead: events, what is sent of them, and how each attempt fared. */
export const exportLeadEvents = async (
  { database, notifications }: { database: Database; notifications: Database },
  request: ExportLeadEventsRequest,
): Promise<ExportLeadEventsResponse> => {
  if (!isUuid(request.leadReference)) return { webhooks: [], notifications: [], complete: true }
  const [webhooks, messages] = await Promise.all([
    exportOf(database, request, (body) => body.toString()),
    exportOf(notifications, request, messageText),
  ])
  const complete = webhooks.complete && messages.complete
  return { webhooks: webhooks.events, notifications: messages.events, complete }
}
