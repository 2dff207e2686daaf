import { Customer, Lead, Quote, QuoteItem } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { IMAGE_COLUMNS, imageOfRow } from '../images/image-row'
import { type Row, rowMapper } from '../row-mapper'

/** A lead's own columns, without its customer and quotes. */
export const LEAD = rowMapper(Lead, 'l', ['customer', 'quotes'])
const CUSTOMER = rowMapper(Customer, 'c')
const QUOTE = rowMapper(Quote, 'q', ['items'])
const ITEM = rowMapper(QuoteItem, 'i', ['image', 'productStyle'])

/** A lead with status `test` is a test lead, whoever made it. */
export const isTest = ({ test, status }: { test: boolean; status: string }): boolean =>
  test || status === 'test'

/** A lead as it is shown, without its customer and quotes. */
export const leadOfRow = (row: Row): Lead => {
  const lead = LEAD.read(row)
  return { ...lead, test: isTest(lead) }
}

interface ItemRow extends Row {
  product_style_sku: string
  product_style_name: string
  product_name: string
}

const itemOfRow = (row: ItemRow, assetsUrl: string): QuoteItem => ({
  ...ITEM.read(row),
  image: imageOfRow(row, assetsUrl),
  productStyle: { sku: row.product_style_sku, name: row.product_style_name, productName: row.product_name },
})

const SELECT_LEADS = `
  SELECT ${LEAD.columns}, ${CUSTOMER.columns}
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  JOIN leads l ON l.account_id = asked.account_id AND l.id = asked.id
  JOIN customers c ON c.account_id = l.account_id AND c.id = l.customer_id`

const SELECT_QUOTES = `
  SELECT ${QUOTE.columns}
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  ORDER BY q.id`

const SELECT_ITEMS = `
  SELECT ${ITEM.columns}, i.product_style_sku, i.product_style_name, i.product_name, ${IMAGE_COLUMNS}
  FROM unnest($1::bigint[], $2::bigint[]) AS asked (account_id, id)
  JOIN quotes q ON q.account_id = asked.account_id AND q.lead_id = asked.id
  JOIN quote_items i ON i.account_id = q.account_id AND i.quote_id = q.id
  JOIN images m ON m.account_id = i.account_id AND m.id = i.image_id
  ORDER BY i.id`

/** Whole leads out of their columns, by id. */
export const leadsFromColumns = async (
  db: Transaction,
  asked: Map<number, { accountId: number }>,
  assetsUrl: string,
): Promise<Map<number, Lead>> => {
  const values = [[...asked.values()].map(({ accountId }) => accountId), [...asked.keys()]]
  const leads = new Map<number, Lead>()
  for (const row of await db.query<Row>({ name: 'leads-of-columns', text: SELECT_LEADS, values })) {
    const lead = { ...leadOfRow(row), customer: CUSTOMER.read(row) }
    leads.set(lead.id, lead)
  }
  const quotes = new Map<number, Quote>()
  for (const quote of await QUOTE.query(db, { name: 'quotes-of-leads', text: SELECT_QUOTES, values })) {
    quotes.set(quote.id, quote)
    leads.get(quote.leadId)?.quotes.push(quote)
  }
  for (const row of await db.query<ItemRow>({ name: 'items-of-leads', text: SELECT_ITEMS, values })) {
    const item = itemOfRow(row, assetsUrl)
    quotes.get(item.quoteId)?.items.push(item)
  }
  return leads
}
