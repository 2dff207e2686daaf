import { Customer, LeadListItem } from '@leadwire/contracts'
import { stringify } from 'csv-stringify/sync'

/** A lead's own columns. */
export const LEAD_FIELDS = Object.keys(LeadListItem.properties)

const CUSTOMER_FIELDS = Object.keys(Customer.properties)

/** The columns of exported leads: the fields of a lead in its order, those of its customer, and its quotes as JSON. */
export const LEAD_COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS.map((field) => `customer.${field}`), 'quotes']

type Fields = Record<string, unknown>

const QUOTES = ',"quotes":'

const cellsOf = (json: string): unknown[] => {
  const lead = JSON.parse(json) as Fields & { customer: Fields }
  const customer = CUSTOMER_FIELDS.map((field) => lead.customer[field])
  // The last member, and in no string, whose quotes are escaped. As it is written: options keep the order of their keys.
  const quotes = json.slice(json.indexOf(QUOTES) + QUOTES.length, -1)
  return [...LEAD_FIELDS.map((field) => lead[field]), ...customer, quotes]
}

// What a spreadsheet takes for a formula at the beginning of a cell (OWASP, CSV Injection), also in full width. With apostrophes before
// it, so that `=1` and `'=1` do not become the same.
const FORMULA = /^(?='*[=+\-@\t＝＋－＠])/gm
const GUARDED_FORMULA = /^'(?='*[=+\-@\t＝＋－＠])/gm

/**
 * Text with an apostrophe before each line that a spreadsheet would take for a formula: what a lead says comes from anybody on the web,
 * and a reader that knows no quotes takes each line for a row. csv-stringify's `escape_formulas` guards the first line alone.
 */
const guarded = (text: string): string => text.replace(FORMULA, "'")

/** What `guarded` made it of. */
export const unguarded = (text: string): string => text.replace(GUARDED_FORMULA, '')

/** Rows of cells as CSV (RFC 4180). */
const csvOf = (rows: unknown[][]): string =>
  stringify(rows, { record_delimiter: 'windows', quote_record_delimiter: true, cast: { string: guarded } })

export const leadCsvHeader = (): string => csvOf([LEAD_COLUMNS])

/** Whole leads, each as the JSON that Retrieve Lead shows, as lines of CSV. */
export const leadCsvRows = (leads: Uint8Array[]): string => csvOf(leads.map((lead) => cellsOf(String(lead))))
