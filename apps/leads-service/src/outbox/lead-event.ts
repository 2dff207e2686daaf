import { randomUUID } from 'node:crypto'
import { Event, type EventType, type Match } from '@leadwire/contracts'
import { isTracing } from '@leadwire/service-kit'
import type { OutboxEvent } from './record-events'

/** An event of a lead, with the finished body of its webhook. `at` is when it happened, by PostgreSQL's clock. */
export const leadEvent = (of: {
  accountId: number
  accountKey: string
  type: EventType
  lead: { reference: string; test: boolean; version: number }
  at: string
  traceparent: string | undefined
  /** Absent: it passes every filter. */
  match?: Match
  body: Buffer
  /** Absent when the lead has no attributes. */
  bodyWithAttributes?: Buffer | undefined
}): OutboxEvent => {
  const { accountId, accountKey, type, lead, at, traceparent = '', match, body, bodyWithAttributes } = of
  const eventId = randomUUID()
  const leadReference = lead.reference
  const payload = Event.encode({
    ...{ eventId, accountId, accountKey, type, leadReference, leadVersion: lead.version, test: lead.test },
    ...{ traceparent, createdAt: at, match, body, bodyWithAttributes },
  }).finish()
  return {
    ...{ eventId, accountId, type, payload, leadReference, publishedAt: at },
    traceparent: isTracing() ? traceparent : null,
  }
}
