import { type OpenTransaction, statement } from '@leadwire/service-kit'
import { buildChangeEvent, CHANGED_LEAD, type ChangedLead } from '../../outbox/record-change'
import { insertEvents, type OutboxEvent } from '../../outbox/record-events'
import { findSuspects, leadByNumber } from './find-suspects'
import type { PersonTerm } from './write-terms'

// Skips leads from imports without webhooks, which have no event lead.created.
const selectLeads = statement<ChangedLead & { number: number; at: string }>('suspected-leads')`
  SELECT l.number, clock_timestamp() AS at, ${CHANGED_LEAD}
  FROM unnest($2::bigint[]) AS asked (number) CROSS JOIN LATERAL (SELECT * FROM ${leadByNumber('asked.number')}) l
  WHERE l.event_id IS NOT NULL AND l.erased_at IS NULL`

// Makes the commit wait for the disk again (see RELAXED in index-leads.ts). A crash could otherwise lose the
// progress after the event was published. The event would then be published again under another id.
const DURABLE = 'SET LOCAL synchronous_commit TO DEFAULT'

/**
 * Finds the suspects of the leads in `terms`, and records an event for each lead that has suspects. Resolves
 * with the events, which the caller publishes after the commit.
 */
export const reportSuspects = async (
  tx: OpenTransaction,
  accountId: number,
  of: { terms: PersonTerm[]; windowMs: number },
): Promise<OutboxEvent[]> => {
  const found = await findSuspects(tx, accountId, of)
  if (found.size === 0) return []
  const leads = await selectLeads(tx, accountId, [...found.keys()])
  const events = leads.map(({ number, at, ...lead }) => {
    const data = JSON.stringify({ reference: lead.reference, suspects: found.get(number) })
    return buildChangeEvent({ accountId, lead, type: 'lead.duplicate_suspected', at, data })
  })
  if (events.length === 0) return []
  tx.send({ text: DURABLE })
  insertEvents(tx, events)
  return events
}
