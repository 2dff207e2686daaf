import type { Lead, LeadListItem } from '@leadwire/contracts'
import type { Sql } from './sql'

const SELECT = `
  SELECT concat('{', json_details, '}')::json AS details, json::json AS item, event_id AS "eventId"
  FROM leads WHERE account_id = $1 AND number > $2 AND number <= $2 + $3 ORDER BY number`

export interface LoadedLead {
  lead: Lead
  /** The `lead.created` event. null if the lead has none. */
  eventId: string | null
}

/**
 * Loads `count` leads of an account, without quotes, in the order of their numbers, from number `after` + 1.
 */
export const loadLeads = async (
  rows: Sql['rows'],
  { accountId, after, count }: { accountId: number; after: number; count: number },
): Promise<LoadedLead[]> => {
  const found = await rows<{ item: LeadListItem; details: Pick<Lead, 'customer'>; eventId: string | null }>(
    SELECT,
    [accountId, after, count],
  )
  return found.map(({ item, details, eventId }) => ({ lead: { ...item, ...details, quotes: [] }, eventId }))
}
