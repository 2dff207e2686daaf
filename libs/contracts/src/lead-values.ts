import type { CreateLead } from './generated/leadwire/leads/v1/leads_service'

/** The lead statuses, in the order of the lead API (section States and transitions). */
export const LEAD_STATUSES = [
  'appointment_scheduled',
  'awaiting_email',
  'callback_later',
  'duplicate',
  'lost',
  'not_interested',
  'number_not_recognised',
  'open',
  'out_of_area',
  'sold',
  'spam',
  'test',
  'unable_to_contact',
] as const

/** The referrers that Create Lead accepts (the lead API, section Create Lead). */
export const LEAD_REFERRERS = [
  'Canvasser',
  'Email',
  'Existing Customer',
  'Facebook',
  'Live Chat',
  'Phone',
  'Purchased Lead',
  'Showroom',
  'Website',
] as const

/**
 * The referrers that a lead can show (the lead API, Lead.referrer): the referrers of Create Lead, and Direct.
 */
export const VISITOR_REFERRERS = [...LEAD_REFERRERS, 'Direct'] as const

/**
 * Matches a stored postcode of the United Kingdom, of its forces (BFPO) or of an overseas territory. Only
 * the form is checked, not whether the postcode exists.
 */
export const POSTCODE =
  /^(GIR 0AA|[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}|BFPO [1-9][0-9]{0,3}|(ASCN|BBND|BIQQ|FIQQ|PCRN|SIQQ|STHL|TDCU|TKCA) 1ZZ)$/

/** The length of an appointment or a callback in a calendar, in minutes. */
export const SCHEDULED_MINUTES: Record<string, number> = { appointment: 60, callback: 15 }

export const MAX_ATTRIBUTES = 30
export const ATTRIBUTE_KEY = /^[a-z][a-z0-9_]{0,39}$/
export const ATTRIBUTE_BYTES = 1024

/**
 * Returns the terms by which leads are filtered: `key:value` for each attribute. `json` is the JSON of the
 * attributes.
 */
export const attributeTerms = (json: string | null | undefined): string[] =>
  json ? Object.entries(JSON.parse(json)).map(([key, value]) => `${key}:${value}`) : []

const CHARACTERS_OF_A_ROW = 1000

/**
 * Returns the cost of writing a lead, in rows: the lead, its attributes, its quotes and items, and one row
 * for each thousand characters of its description and options.
 */
export const leadCost = ({ lead }: CreateLead): number => {
  if (!lead) return 1
  let rows = 1 + attributeTerms(lead.attributes).length
  let characters = lead.description?.length ?? 0
  for (const { items } of lead.quotes) {
    rows += 1 + items.length
    for (const { options } of items) characters += options.length
  }
  return rows + Math.floor(characters / CHARACTERS_OF_A_ROW)
}
