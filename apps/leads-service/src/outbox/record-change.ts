import { type EventType, eventBody } from '@leadwire/contracts'
import { activeTraceparent } from '@leadwire/service-kit'
import { leadEvent } from './lead-event'
import { MATCH, type MatchColumns, matchOf } from './lead-match'
import type { RecordingTransaction } from './record-events'

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

/**
 * Records an event of a lead for the account's webhooks, in the transaction of what it reports. Which endpoints subscribe to
 * it only webhook-service knows. `data` is JSON text, `at` a time of PostgreSQL's.
 */
export const recordChange = (
  tx: RecordingTransaction,
  change: {
    accountId: number
    lead: ChangedLead
    type: Exclude<EventType, 'lead.created'>
    at: string
    data: string
  },
): void => {
  const { data, lead, ...rest } = change
  const event = { accountKey: lead.api_key, traceparent: activeTraceparent(), match: matchOf(lead) }
  tx.record(leadEvent({ ...rest, ...event, lead, body: eventBody(change.type, data) }))
}
