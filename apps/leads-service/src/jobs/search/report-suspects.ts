import { type OpenTransaction, statement } from '@leadwire/service-kit'
import { insertTogether } from '../../database/inserter'
import { CHANGED_LEAD, type ChangedLead, changeEvent } from '../../outbox/record-change'
import { eventsOf, type OutboxEvent } from '../../outbox/record-events'
import { findSuspects, leadByNumber } from './find-suspects'
import type { PersonTerm } from './write-terms'

// Without an event of their creation: leads of an import without webhooks.
const selectLeads = statement<ChangedLead & { number: number; at: string }>('suspected-leads')`
  SELECT l.number, clock_timestamp() AS at, ${CHANGED_LEAD}
  FROM unnest($2::bigint[]) AS asked (number) CROSS JOIN LATERAL (SELECT * FROM ${leadByNumber('asked.number')}) l
  WHERE l.event_id IS NOT NULL AND l.erased_at IS NULL`

// An event that is published must not be lost with the progress, or it comes again under another id.
const DURABLE = 'SET LOCAL synchronous_commit TO DEFAULT'

/** Records the events of new leads with earlier ones of the same person. Resolves with them, to be published after the commit. */
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
    return changeEvent({ accountId, lead, type: 'lead.duplicate_suspected', at, data })
  })
  if (events.length === 0) return []
  tx.send({ text: DURABLE })
  insertTogether(tx, [eventsOf(events)])
  return events
}
