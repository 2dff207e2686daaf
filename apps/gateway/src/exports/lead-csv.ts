import { Customer, LeadListItem, ManagedFields } from '@leadwire/contracts'
import { stringify } from 'csv-stringify/sync'

export const LEAD_FIELDS = [LeadListItem, ManagedFields].flatMap(({ properties }) => Object.keys(properties))

const CUSTOMER_FIELDS = Object.keys(Customer.properties)

/** The columns of exported leads: the fields of a lead in its order, with its attributes as JSON, those of its customer, and its quotes as JSON. */
const LEAD_COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS.map((field) => `customer.${field}`), 'quotes']

type Fields = Record<string, unknown>

const QUOTES = ',"quotes":['

const cellsOf = (json: string): unknown[] => {
  const lead = JSON.parse(json) as Fields & { customer: Fields }
  const customer = CUSTOMER_FIELDS.map((field) => lead.customer[field])
  // The last member as it is written, because options keep the order of their keys. No string contains QUOTES, because quotes are escaped,
  // and no attribute is a list.
  const quotes = json.slice(json.indexOf(QUOTES) + QUOTES.length - 1, -1)
  return [...LEAD_FIELDS.map((field) => lead[field]), ...customer, quotes]
}

// The beginnings of a formula (OWASP, CSV Injection), also in full width. Apostrophes before it count, so that `=1` and `'=1` stay
// different.
const FORMULA = /^(?='*[=+\-@\t＝＋－＠])/gm
const GUARDED_FORMULA = /^'(?='*[=+\-@\t＝＋－＠])/gm

/**
 * Text with an apostrophe before each line that a spreadsheet would read as a formula: any visitor of a website can write it. Each line
 * counts, because a reader that ignores quotes reads it as a row. csv-stringify's `escape_formulas` guards the first line alone.
 */
const guarded = (text: string): string => text.replace(FORMULA, "'")

/** The reverse of `guarded`. */
export const unguarded = (text: string): string => text.replace(GUARDED_FORMULA, '')

/** Rows of cells as CSV (RFC 4180). */
const csvOf = (rows: unknown[][]): string =>
  stringify(rows, { record_delimiter: 'windows', quote_record_delimiter: true, cast: { string: guarded } })

export const leadCsvHeader = (): string => csvOf([LEAD_COLUMNS])

/** Leads in the JSON of ManagedLead as lines of CSV. */
export const leadCsvRows = (leads: Uint8Array[]): string => csvOf(leads.map((lead) => cellsOf(String(lead))))
