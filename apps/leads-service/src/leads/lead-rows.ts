import type { Customer, Lead, Quote, QuoteItem } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { IMAGE_COLUMNS, type ImageRow, imageOfRow } from '../images/image-row'

/** The columns of a lead that its public JSON is made of. */
export interface LeadRow {
  id: number
  reference: string
  name: string
  value: number
  description: string | null
  postcode: string
  user_agent: string
  ip: string
  referrer: string
  referrer_url: string | null
  device_type: string
  device_name: string
  browser: string
  browser_version: string
  os: string
  os_version: string
  status: string
  type: string
  test: boolean
  created_at: string
  updated_at: string
}

export const LEAD_COLUMNS = `l.id, l.reference, l.name, l.value, l.description, l.postcode, l.user_agent, l.ip, l.referrer,
  l.referrer_url, l.device_type, l.device_name, l.browser, l.browser_version, l.os, l.os_version, l.status, l.type, l.test,
  l.created_at, l.updated_at`

/** A lead without its customer and quotes. */
export const leadOfRow = (row: LeadRow): Lead => ({
  id: row.id,
  reference: row.reference,
  name: row.name,
  value: row.value,
  description: row.description ?? undefined,
  postcode: row.postcode,
  userAgent: row.user_agent,
  ip: row.ip,
  referrer: row.referrer,
  referrerUrl: row.referrer_url ?? undefined,
  deviceType: row.device_type,
  deviceName: row.device_name,
  browser: row.browser,
  browserVersion: row.browser_version,
  os: row.os,
  osVersion: row.os_version,
  status: row.status,
  type: row.type,
  // A lead with status `test` is a test lead, whoever made it.
  test: row.test || row.status === 'test',
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  customer: undefined,
  quotes: [],
})

interface CustomerRow {
  customer_id: number
  first_name: string
  last_name: string
  company_name: string | null
  email: string
  phone: string
  phone_link: string
  mobile: string | null
  mobile_link: string | null
  address_1: string | null
  address_2: string | null
  city: string | null
  county: string | null
  customer_postcode: string
  avatar_url: string | null
  customer_created_at: string
}

const customerOfRow = (row: CustomerRow): Customer => ({
  id: row.customer_id,
  firstName: row.first_name,
  lastName: row.last_name,
  companyName: row.company_name ?? undefined,
  email: row.email,
  phone: row.phone,
  phoneLink: row.phone_link,
  mobile: row.mobile ?? undefined,
  mobileLink: row.mobile_link ?? undefined,
  address1: row.address_1 ?? undefined,
  address2: row.address_2 ?? undefined,
  city: row.city ?? undefined,
  county: row.county ?? undefined,
  postcode: row.customer_postcode,
  avatarUrl: row.avatar_url ?? undefined,
  createdAt: row.customer_created_at,
})

interface ItemRow extends ImageRow {
  id: number
  quote_id: number
  product_style_id: number
  name: string
  price: number
  cost: number | null
  margin: number | null
  tax: number | null
  minimum: number | null
  maximum: number | null
  format: string
  hidden: boolean
  status: string
  product_style_sku: string
  product_style_name: string
  product_name: string
  options: string
  created_at: string
  updated_at: string
}

const itemOfRow = (row: ItemRow, assetsUrl: string): QuoteItem => ({
  id: row.id,
  quoteId: row.quote_id,
  productStyleId: row.product_style_id,
  name: row.name,
  price: row.price,
  cost: row.cost ?? undefined,
  margin: row.margin ?? undefined,
  tax: row.tax ?? undefined,
  minimum: row.minimum ?? undefined,
  maximum: row.maximum ?? undefined,
  format: row.format,
  hidden: row.hidden,
  status: row.status,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
  image: imageOfRow(row, assetsUrl),
  productStyle: { sku: row.product_style_sku, name: row.product_style_name, productName: row.product_name },
  options: row.options,
})

interface QuoteRow {
  id: number
  lead_id: number
  status: string
  created_at: string
  updated_at: string
}

const SELECT_LEADS = `
  SELECT ${LEAD_COLUMNS}, c.id AS customer_id, c.first_name, c.last_name, c.company_name, c.email, c.phone, c.phone_link,
    c.mobile, c.mobile_link, c.address_1, c.address_2, c.city, c.county, c.postcode AS customer_postcode, c.avatar_url,
    c.created_at AS customer_created_at
  FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS asked (account_id, id, ord)
  JOIN leads l ON l.account_id = asked.account_id AND l.id = asked.id
  JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id
  ORDER BY asked.ord`

const SELECT_QUOTES = `
  SELECT q.id, q.lead_id, q.status, q.created_at, q.updated_at
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  ORDER BY q.id`

const SELECT_ITEMS = `
  SELECT i.id, i.quote_id, i.product_style_id, i.name, i.price, i.cost, i.margin, i.tax, i.minimum, i.maximum, i.format,
    i.hidden, i.status, i.product_style_sku, i.product_style_name, i.product_name, i.options, i.created_at, i.updated_at,
    ${IMAGE_COLUMNS}
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  JOIN quote_items i ON i.account_id = q.account_id AND i.quote_id = q.id
  JOIN images m ON m.account_id = i.account_id AND m.id = i.image_id
  ORDER BY i.id`

const groupBy = <Row>(rows: Row[], keyOf: (row: Row) => number): Map<number, Row[]> => {
  const groups = new Map<number, Row[]>()
  for (const row of rows) groups.set(keyOf(row), [...(groups.get(keyOf(row)) ?? []), row])
  return groups
}

/** Whole leads out of their columns, in the order asked for; each must be there. */
export const leadsFromColumns = async (
  db: Transaction,
  asked: { accountId: number; id: number }[],
  assetsUrl: string,
): Promise<Lead[]> => {
  const values = [asked.map(({ accountId }) => accountId), asked.map(({ id }) => id)]
  const leads = await db.query<LeadRow & CustomerRow>({
    name: 'leads-of-columns',
    text: SELECT_LEADS,
    values,
  })
  const quotes = await db.query<QuoteRow>({ name: 'quotes-of-leads', text: SELECT_QUOTES, values })
  const items = await db.query<ItemRow>({ name: 'items-of-leads', text: SELECT_ITEMS, values })
  const itemsOf = groupBy(items, ({ quote_id }) => quote_id)
  const quotesOf = groupBy(quotes, ({ lead_id }) => lead_id)
  const quoteOf = (row: QuoteRow): Quote => ({
    id: row.id,
    leadId: row.lead_id,
    status: row.status,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    items: (itemsOf.get(row.id) ?? []).map((item) => itemOfRow(item, assetsUrl)),
  })
  return leads.map((row) => ({
    ...leadOfRow(row),
    customer: customerOfRow(row),
    quotes: (quotesOf.get(row.id) ?? []).map(quoteOf),
  }))
}
