import { stringify } from 'csv-stringify/sync'

const LEAD_FIELDS = [
  ...['id', 'reference', 'name', 'value', 'description', 'postcode', 'user_agent', 'ip', 'referrer'],
  ...[
    'referrer_url',
    'device_type',
    'device_name',
    'browser',
    'browser_version',
    'os',
    'os_version',
    'status',
  ],
  ...['type', 'test', 'created_at', 'updated_at'],
]

const CUSTOMER_FIELDS = [
  ...['id', 'first_name', 'last_name', 'name', 'company_name', 'email', 'phone', 'phone_link', 'mobile'],
  ...['mobile_link', 'address_1', 'address_2', 'city', 'county', 'postcode', 'avatar_url', 'created_at'],
]

/** The columns of exported leads: the fields of a lead in its order, those of its customer, and its quotes as JSON. */
export const LEAD_COLUMNS = [...LEAD_FIELDS, ...CUSTOMER_FIELDS.map((field) => `customer.${field}`), 'quotes']

type Fields = Record<string, unknown>

const cellsOf = (json: string): unknown[] => {
  const lead = JSON.parse(json) as Fields & { customer: Fields; quotes: unknown[] }
  const customer = CUSTOMER_FIELDS.map((field) => lead.customer[field])
  return [...LEAD_FIELDS.map((field) => lead[field]), ...customer, JSON.stringify(lead.quotes)]
}

/**
 * Rows of cells as CSV (RFC 4180). A cell that a spreadsheet would take for a formula, because it begins with = + - or @, gets an
 * apostrophe before it: what stands in a lead comes from anybody on the web.
 */
const csvOf = (rows: unknown[][]): string =>
  stringify(rows, { record_delimiter: 'windows', escape_formulas: true })

export const leadCsvHeader = (): string => csvOf([LEAD_COLUMNS])

/** Whole leads, each as the JSON that Retrieve Lead shows, as lines of CSV. */
export const leadCsvRows = (leads: Uint8Array[]): string => csvOf(leads.map((lead) => cellsOf(String(lead))))
