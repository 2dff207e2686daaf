import { type EventType, eventBody, withAttributes } from '@leadwire/contracts'
import { activeTraceparent } from '@leadwire/service-kit'
import { leadEvent } from './lead-event'
import { MATCH, type MatchColumns, matchOf } from './lead-match'
import type { OutboxEvent, RecordingTransaction } from './record-events'

/** What an event says of its lead. */
export interface ChangedLead extends MatchColumns {
  reference: string
  test: boolean
  version: number
  api_key: string
}

/** The columns of it, of a lead `l`. */
export const CHANGED_LEAD = `l.reference, l.test OR l.status = 'test' AS test, l.version,
  (SELECT api_key FROM accounts WHERE id = l.account_id) AS api_key, ${MATCH}`

interface Change {
  accountId: number
  lead: ChangedLead
  type: Exclude<EventType, 'lead.created'>
  /** A time of PostgreSQL's. */
  at: string
  /** JSON text. */
  data: string
  /** JSON text: those of the lead, in an event whose data is a lead. */
  attributes?: string | null
  traceparent?: string | undefined
}

/** The event of a change of a lead. */
export const changeEvent = (change: Change): OutboxEvent => {
  const { data, lead, attributes, traceparent = activeTraceparent(), ...rest } = change
  return leadEvent({
    ...{ ...rest, lead, accountKey: lead.api_key, traceparent, match: matchOf(lead) },
    body: eventBody(change.type, data),
    bodyWithAttributes: attributes ? eventBody(change.type, withAttributes(data, attributes)) : undefined,
  })
}

/**
 * Records an event of a lead for the account's webhooks, in the transaction of what it reports. Which endpoints subscribe to
 * it only webhook-service knows.
 */
export const recordChange = (tx: RecordingTransaction, change: Change): void => tx.record(changeEvent(change))
