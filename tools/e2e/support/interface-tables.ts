// The tables of fields from the lead API, section "Resources and their fields". The fields have the same
// order as in the responses.

type Kind = 'integer' | 'string' | 'nullable' | 'flag' | 'timestamp' | 'uuid' | 'object' | 'array'
export type Table = readonly (readonly [field: string, kind: Kind])[]

/** A lead in a list: the fields from id to updated_at. */
export const LIST_ITEM: Table = [
  ['id', 'integer'],
  ['reference', 'uuid'],
  ['name', 'string'],
  ['value', 'integer'],
  ['description', 'nullable'],
  ['postcode', 'string'],
  ['user_agent', 'string'],
  ['ip', 'string'],
  ['referrer', 'string'],
  ['referrer_url', 'nullable'],
  ['device_type', 'string'],
  ['device_name', 'string'],
  ['browser', 'string'],
  ['browser_version', 'string'],
  ['os', 'string'],
  ['os_version', 'string'],
  ['status', 'string'],
  ['type', 'string'],
  ['test', 'flag'],
  ['created_at', 'timestamp'],
  ['updated_at', 'timestamp'],
]

export const LEAD_TABLE: Table = [...LIST_ITEM, ['customer', 'object'], ['quotes', 'array']]

export const CUSTOMER: Table = [
  ['id', 'integer'],
  ['first_name', 'string'],
  ['last_name', 'string'],
  ['name', 'string'],
  ['company_name', 'nullable'],
  ['email', 'string'],
  ['phone', 'string'],
  ['phone_link', 'string'],
  ['mobile', 'nullable'],
  ['mobile_link', 'nullable'],
  ['address_1', 'nullable'],
  ['address_2', 'nullable'],
  ['city', 'nullable'],
  ['county', 'nullable'],
  ['postcode', 'string'],
  ['avatar_url', 'nullable'],
  ['created_at', 'timestamp'],
]

export const QUOTE: Table = [
  ['id', 'integer'],
  ['lead_id', 'integer'],
  ['status', 'string'],
  ['created_at', 'timestamp'],
  ['updated_at', 'timestamp'],
  ['items', 'array'],
]

export const ITEM_IN_RETRIEVE: Table = [
  ['id', 'integer'],
  ['quote_id', 'integer'],
  ['product_style_id', 'integer'],
  ['name', 'string'],
  ['price', 'integer'],
  ['cost', 'nullable'],
  ['margin', 'nullable'],
  ['tax', 'nullable'],
  ['minimum', 'nullable'],
  ['maximum', 'nullable'],
  ['format', 'string'],
  ['hidden', 'flag'],
  ['status', 'string'],
  ['created_at', 'timestamp'],
  ['updated_at', 'timestamp'],
  ['image', 'object'],
  ['product_style', 'object'],
  ['options', 'object'],
]

export const ITEM_IN_WEBHOOK: Table = ITEM_IN_RETRIEVE.filter(([field]) => field !== 'product_style')

export const IMAGE: Table = [
  ['id', 'integer'],
  ['name', 'nullable'],
  ['file_name', 'string'],
  ['file_size', 'integer'],
  ['content_type', 'string'],
  ['alt', 'nullable'],
  ['public', 'flag'],
  ['processed', 'flag'],
  ['created_at', 'timestamp'],
  ['updated_at', 'timestamp'],
  ['url', 'string'],
]

/** The fields of the response to Get Leads. */
export const PAGE_FIELDS = [
  'current_page',
  'data',
  'first_page_url',
  'from',
  'last_page',
  'last_page_url',
  'next_page_url',
  'path',
  'per_page',
  'prev_page_url',
  'to',
  'total',
]

/** The lead statuses from the lead API, section "States and transitions". */
export const STATUSES = [
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
]

export const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

const IS: Record<Kind, (value: unknown) => boolean> = {
  integer: Number.isSafeInteger,
  string: (value) => typeof value === 'string',
  nullable: (value) => value === null || typeof value === 'string' || typeof value === 'number',
  flag: (value) => value === 0 || value === 1,
  timestamp: (value) => typeof value === 'string' && TIMESTAMP.test(value),
  uuid: (value) => typeof value === 'string' && UUID.test(value),
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: Array.isArray,
}

/** Expects that a record has exactly the fields of a table, in order and with the right types. */
export function expectRecord(record: unknown, table: Table): void {
  const fields = record as Record<string, unknown>
  expect(Object.keys(fields)).toEqual(table.map(([field]) => field))
  const wrong = table.filter(([field, kind]) => !IS[kind](fields[field]))
  expect(wrong.map(([field, kind]) => ({ field, kind, value: fields[field] }))).toEqual([])
}

type Parent = Record<string, Record<string, unknown>[] | Record<string, unknown>>

/** Expects that a lead has exactly the fields of the lead API, including quotes, items and images. */
export function expectWholeLead(lead: unknown, { item }: { item: Table }): void {
  expectRecord(lead, LEAD_TABLE)
  const { customer, quotes } = lead as Parent
  expectRecord(customer, CUSTOMER)
  for (const quote of quotes as unknown as Parent[]) {
    expectRecord(quote, QUOTE)
    for (const one of quote['items'] as unknown as Parent[]) {
      expectRecord(one, item)
      expectRecord(one['image'], IMAGE)
    }
  }
}
