import { Customer, LeadListItem, ManagedFields } from '@leadwire/contracts'
import { stringify } from 'csv-stringify/sync'

export const LEAD_FIELDS = [LeadListItem, ManagedFields].flatMap(({ properties }) => Object.keys(properties))

const CUSTOMER_FIELDS = Object.keys(Customer.properties)

/**
 * The columns of exported leads: the fields of a lead in their order, the fields of its customer, and
 * `quotes`. Attributes and quotes are JSON.
 */
const LEAD_COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS.map((field) => `customer.${field}`), 'quotes']

type Fields = Record<string, unknown>

const QUOTES = ',"quotes":['

const readCells = (json: string): unknown[] => {
  const lead = JSON.parse(json) as Fields & { customer: Fields }
  const customer = CUSTOMER_FIELDS.map((field) => lead.customer[field])
  // Copies the source text of `quotes`, because JSON.parse would reorder the numeric keys of options.
  // `quotes` is the last member. QUOTES cannot occur earlier: strings escape their quotation marks, and no
  // attribute is a list.
  const quotes = json.slice(json.indexOf(QUOTES) + QUOTES.length - 1, -1)
  return [...LEAD_FIELDS.map((field) => lead[field]), ...customer, quotes]
}

// Matches the start of a line that begins with the first character of a formula (OWASP, CSV Injection), in
// normal or full width. Also matches if apostrophes precede this character. Otherwise the guarded `=1` would
// equal the unguarded `'=1`.
const FORMULA = /^(?='*[=+\-@\t＝＋－＠])/gm
const GUARDED_FORMULA = /^'(?='*[=+\-@\t＝＋－＠])/gm

/**
 * Adds an apostrophe before each line that a spreadsheet would read as a formula, because any visitor of a
 * website can write formulas. Guards every line of a text, because a reader that ignores quotation marks
 * takes each line for a row. The option `escape_formulas` of csv-stringify is not enough, because it guards
 * only the first line.
 */
const guarded = (text: string): string => text.replace(FORMULA, "'")

/** Reverses `guarded`. */
export const unguarded = (text: string): string => text.replace(GUARDED_FORMULA, '')

/** Renders rows of cells as CSV (RFC 4180), guarded against formulas. */
export const writeCsv = (rows: unknown[][], delimiter = ','): string =>
  stringify(rows, {
    delimiter,
    record_delimiter: 'windows',
    quote_record_delimiter: true,
    cast: { string: guarded },
  })

export const leadCsvHeader = (): string => writeCsv([LEAD_COLUMNS])

/** Renders leads as lines of CSV. Each lead is the JSON of a ManagedLead. */
export const leadCsvRows = (leads: Uint8Array[]): string =>
  writeCsv(leads.map((lead) => readCells(String(lead))))
