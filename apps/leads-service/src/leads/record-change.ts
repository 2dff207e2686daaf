import { randomUUID } from 'node:crypto'
import { type ChangeKind, changeBody, LeadChanged } from '@leadwire/contracts'
import { activeTraceparent, type OpenTransaction } from '@leadwire/service-kit'
import { recordEvent } from '../outbox/record-events'
import { isTest } from './lead-rows'

/** What an event says of its lead. */
export interface ChangedLead {
  reference: string
  test: boolean
  status: string
  api_key: string
}

/** The columns of it, of a lead `l`. */
export const CHANGED_LEAD = `l.reference, l.test, l.status,
  (SELECT api_key FROM accounts WHERE id = l.account_id) AS api_key`

/**
 * Records, in the transaction of what it tells of, an event of a lead for the account's webhooks. Whether anybody subscribes to
 * it only webhook-service knows. `data` is JSON text.
 */
export const recordChange = (
  tx: OpenTransaction,
  { accountId, lead, kind, data }: { accountId: number; lead: ChangedLead; kind: ChangeKind; data: string },
): void => {
  const event = LeadChanged.fromPartial({
    eventId: randomUUID(),
    accountId,
    accountKey: lead.api_key,
    kind,
    leadReference: lead.reference,
    test: isTest(lead),
    body: changeBody(kind, data),
  })
  const payload = LeadChanged.encode(event).finish()
  const { eventId, leadReference } = event
  const traceparent = activeTraceparent()
  recordEvent(tx, { eventId, accountId, kind: 'lead.changed', payload, leadReference, traceparent })
}
