/** A member of a record's JSON: the column of that name (null: made of others), and how it is shown. */
type Member = [name: string, type: string | null, shown?: string]

// PostgreSQL calls to_char stable, because a locale may change the names of months; none is printed here.
const instants = (...names: string[]): Member[] =>
  names.map((name) => [
    name,
    'timestamptz',
    `to_char(${name} AT TIME ZONE 'UTC', '"\\""YYYY-MM-DD"T"HH24:MI:SS.US"Z\\""')`,
  ])

const flags = (...names: string[]): Member[] => names.map((name) => [name, 'boolean', `${name}::int`])

const texts = (...names: string[]): Member[] => names.map((name) => [name, 'text'])

const LEAD: Member[] = [
  ['id', 'bigint'],
  ['reference', 'uuid'],
  ...texts('name'),
  ['value', 'integer'],
  ...texts('description', 'postcode', 'user_agent', 'ip', 'referrer', 'referrer_url', 'device_type'),
  ...texts('device_name', 'browser', 'browser_version', 'os', 'os_version', 'status', 'type'),
  ['test', 'boolean', "(test OR status = 'test')::int"],
  ...instants('created_at', 'updated_at'),
]

const CUSTOMER: Member[] = [
  ['id', 'bigint'],
  ...texts('first_name', 'last_name'),
  ['name', null, "to_json(first_name || ' ' || last_name)"],
  ...texts('company_name', 'email', 'phone', 'phone_link', 'mobile', 'mobile_link', 'address_1', 'address_2'),
  ...texts('city', 'county', 'postcode', 'avatar_url'),
  ...instants('created_at'),
]

const QUOTE: Member[] = [
  ['id', 'bigint'],
  ['lead_id', 'bigint'],
  ...texts('status'),
  ...instants('created_at', 'updated_at'),
]

const ITEM: Member[] = [
  ['id', 'bigint'],
  ['quote_id', 'bigint'],
  ['product_style_id', 'bigint'],
  ...texts('name'),
  ['price', 'bigint'],
  ['cost', 'bigint'],
  ['margin', 'double precision'],
  ['tax', 'bigint'],
  ['minimum', 'double precision'],
  ['maximum', 'double precision'],
  ...texts('format'),
  ...flags('hidden'),
  ...texts('status'),
  ...instants('created_at', 'updated_at'),
]

const IMAGE: Member[] = [
  ['id', 'bigint'],
  ...texts('name', 'file_name'),
  ['file_size', 'bigint'],
  ...texts('content_type', 'alt'),
  ...flags('public', 'processed'),
  ...instants('created_at', 'updated_at'),
]

const MEMBERS = { leads: LEAD, customers: CUSTOMER, quotes: QUOTE, quote_items: ITEM, images: IMAGE }

/**
 * Adds json_head to a table: a row as the interface shows it, without the closing brace, so that nested records can
 * follow. PostgreSQL makes it when a row is written: reads put finished text together, and it can't disagree with its
 * row.
 */
export const jsonHead = (table: keyof typeof MEMBERS): string => {
  const members = MEMBERS[table]
  const columns = members.filter(([, type]) => type !== null)
  const shown = members.map(
    ([name, , json = `to_json(${name})`]) => `'"${name}":', coalesce(${json}::text, 'null')`,
  )
  return `
  CREATE FUNCTION ${table}_json_head (${columns.map(([name, type]) => `${name} ${type}`).join(', ')})
    RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN RETURN concat('{', ${shown.join(", ',', ")}); END $$;
  ALTER TABLE ${table} ADD COLUMN json_head text
    GENERATED ALWAYS AS (${table}_json_head(${columns.map(([name]) => name).join(', ')})) STORED;`
}
