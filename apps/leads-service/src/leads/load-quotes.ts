import type { Quote, QuoteItem } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { IMAGE_COLUMNS, type ImageRow, imageOfRow } from '../attachments/image-row'

interface QuoteRow {
  id: number
  lead_id: number
  status: string
  created_at: string
  updated_at: string
}

interface QuoteItemRow extends ImageRow {
  id: number
  quote_id: number
  status: string
  created_at: string
  updated_at: string
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
  product_style_sku: string
  product_style_name: string
  product_name: string
  options: string
}

const SELECT_QUOTES = `
  SELECT id, lead_id, status, created_at, updated_at
  FROM quotes
  WHERE (account_id, lead_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))
  ORDER BY id`

const SELECT_ITEMS = `
  SELECT i.*, ${IMAGE_COLUMNS}
  FROM quotes q
  JOIN quote_items i ON i.account_id = q.account_id AND i.quote_id = q.id
  JOIN images m ON m.account_id = i.account_id AND m.id = i.image_id
  WHERE (q.account_id, q.lead_id) IN (SELECT * FROM unnest($1::bigint[], $2::bigint[]))
  ORDER BY i.id`

const itemOfRow = (row: QuoteItemRow, assetsUrl: string): QuoteItem => ({
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

const groupBy = <T>(values: T[], keyOf: (value: T) => number): Map<number, T[]> => {
  const groups = new Map<number, T[]>()
  for (const value of values) {
    const group = groups.get(keyOf(value))
    if (group) group.push(value)
    else groups.set(keyOf(value), [value])
  }
  return groups
}

/** The quotes of many leads by lead id, each with its items, their images and product styles, in the order they came in. */
export const loadQuotes = async (
  db: Transaction,
  leads: { accountId: number; id: number }[],
  assetsUrl: string,
): Promise<Map<number, Quote[]>> => {
  if (leads.length === 0) return new Map()
  const values = [leads.map(({ accountId }) => accountId), leads.map(({ id }) => id)]
  const quotes = await db.query<QuoteRow>({ name: 'load-quotes', text: SELECT_QUOTES, values })
  const items = await db.query<QuoteItemRow>({ name: 'load-quote-items', text: SELECT_ITEMS, values })
  const itemsOfQuote = groupBy(
    items.map((row) => itemOfRow(row, assetsUrl)),
    ({ quoteId }) => quoteId,
  )
  return groupBy(
    quotes.map((row) => ({
      id: row.id,
      leadId: row.lead_id,
      status: row.status,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      items: itemsOfQuote.get(row.id) ?? [],
    })),
    ({ leadId }) => leadId,
  )
}
