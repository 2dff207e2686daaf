import { type EventType, eventBody, type Match, withAttributes } from '@leadwire/contracts'
import { activeTraceparent } from '@leadwire/service-kit'
import { buildLeadEvent, type OutboxEvent, type RecordingTransaction } from './record-events'

/** The columns of a lead that the filters of webhook endpoints compare. */
export interface MatchColumns {
  status: string
  referrer: string
  postcode: string
  user_email: string | null
}

/** SQL: the MatchColumns of a lead `l`. */
export const MATCH = `l.status, l.referrer, l.postcode,
  (SELECT email FROM users u WHERE u.account_id = l.account_id AND u.id = l.user_id) AS user_email`

export const readMatch = ({ status, referrer, postcode, user_email }: MatchColumns): Match => ({
  status,
  referrer,
  postcode,
  userEmail: user_email ?? undefined,
})

/** The columns of a lead that its events need. */
export interface ChangedLead extends MatchColumns {
  reference: string
  test: boolean
  version: number
  api_key: string
}

/** SQL: the columns of a lead `l` that make up a ChangedLead. */
export const CHANGED_LEAD = `l.reference, l.test OR l.status = 'test' AS test, l.version,
  (SELECT api_key FROM accounts WHERE id = l.account_id) AS api_key, ${MATCH}`

interface Change {
  accountId: number
  lead: ChangedLead
  type: Exclude<EventType, 'lead.created'>
  /** The time of the change by PostgreSQL's clock. */
  at: string
  /** JSON text. */
  data: string
  /** The attributes of the lead as JSON text. Only for an event whose data is a lead. */
  attributes?: string | null
  traceparent?: string | undefined
}

/** Builds the event of a change of a lead. */
export const buildChangeEvent = (change: Change): OutboxEvent => {
  const { accountId, lead, type, at, data, attributes, traceparent = activeTraceparent() } = change
  return buildLeadEvent({
    accountId,
    accountKey: lead.api_key,
    type,
    lead,
    at,
    traceparent,
    match: readMatch(lead),
    body: eventBody(type, data),
    bodyWithAttributes: attributes ? eventBody(type, withAttributes(data, attributes)) : undefined,
  })
}

/**
 * Records an event of a lead for the account's webhooks, in the transaction of the change. Records the event
 * even if no endpoint subscribes to it, because only webhook-service knows the subscriptions.
 */
export const recordChange = (tx: RecordingTransaction, change: Change): void =>
  tx.record(buildChangeEvent(change))
