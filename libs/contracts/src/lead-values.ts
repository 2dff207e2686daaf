import type { CreateLead } from './generated/leadwire/leads/v1/leads_service'

/** The lead statuses, in the order the interface lists them (States and transitions). */
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

/** The referrers Create Lead accepts (interface: Create Lead). */
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

/** A visitor's lead can also come by no referrer at all (interface: Lead.referrer). */
export const VISITOR_REFERRERS = [...LEAD_REFERRERS, 'Direct'] as const

/** As they are stored: of the United Kingdom, of its forces (BFPO) and of its overseas territories (design: Create). */
export const POSTCODE =
  /^(GIR 0AA|[A-Z]{1,2}[0-9][A-Z0-9]? [0-9][A-Z]{2}|BFPO [1-9][0-9]{0,3}|(ASCN|BBND|BIQQ|FIQQ|PCRN|SIQQ|STHL|TDCU|TKCA) 1ZZ)$/

/** How long an appointment or a callback takes in a calendar. */
export const SCHEDULED_MINUTES: Record<string, number> = { appointment: 60, callback: 15 }

export const MAX_ATTRIBUTES = 30
export const ATTRIBUTE_KEY = /^[a-z][a-z0-9_]{0,39}$/
export const ATTRIBUTE_BYTES = 1024

/** What a lead is filtered by, of the JSON of its attributes: `key:value`. */
export const attributeTerms = (json: string | null | undefined): string[] =>
  json ? Object.entries(JSON.parse(json)).map(([key, value]) => `${key}:${value}`) : []

const CHARACTERS_OF_A_ROW = 1000

/** In rows: the lead, its attributes, its quotes and items, and one for each thousand characters of the texts that may be long. */
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
