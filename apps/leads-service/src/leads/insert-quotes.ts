import type { Quote, QuoteItem } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'

/** A lead that was just inserted, with its quotes as they were drafted. */
export interface LeadWithQuotes {
  accountId: number
  leadId: number
  createdAt: string
  quotes: Quote[]
}

const INSERT_QUOTES = `
  INSERT INTO quotes (account_id, lead_id, status, created_at, updated_at)
  SELECT account_id, lead_id, status, created_at, created_at
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[])
    WITH ORDINALITY AS t (account_id, lead_id, status, created_at, ord)
  ORDER BY ord
  RETURNING id`

const itemColumns: [column: string, type: string, value: (item: QuoteItem) => unknown][] = [
  ['product_style_id', 'bigint', (item) => item.productStyleId],
  ['name', 'text', (item) => item.name],
  ['price', 'bigint', (item) => item.price],
  ['cost', 'bigint', (item) => item.cost],
  ['margin', 'float8', (item) => item.margin],
  ['tax', 'bigint', (item) => item.tax],
  ['minimum', 'float8', (item) => item.minimum],
  ['maximum', 'float8', (item) => item.maximum],
  ['format', 'text', (item) => item.format],
  ['hidden', 'boolean', (item) => item.hidden],
  ['status', 'text', (item) => item.status],
  ['product_style_sku', 'text', (item) => item.productStyle!.sku],
  ['product_style_name', 'text', (item) => item.productStyle!.name],
  ['product_name', 'text', (item) => item.productStyle!.productName],
  ['image_id', 'bigint', (item) => item.image!.id],
  ['options', 'json', (item) => item.options],
]

const names = itemColumns.map(([column]) => column).join(', ')

const INSERT_ITEMS = `
  INSERT INTO quote_items (account_id, quote_id, created_at, updated_at, ${names})
  SELECT account_id, quote_id, created_at, created_at, ${names}
  FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[],
    ${itemColumns.map(([, type], index) => `$${index + 4}::${type}[]`).join(', ')})
    WITH ORDINALITY AS t (account_id, quote_id, created_at, ${names}, ord)
  ORDER BY ord
  RETURNING id`

// The sequence is drawn from in the order of the insertion, so ascending ids are the order of the input.
const idsInOrder = (rows: { id: number }[]) => rows.map(({ id }) => id).sort((a, b) => a - b)

/** Inserts the quotes and items of many leads; answers with each lead's quotes as they were drafted, with ids and times. */
export const insertQuotes = async (tx: Transaction, leads: LeadWithQuotes[]): Promise<Quote[][]> => {
  const quotes = leads.flatMap((lead) => lead.quotes.map((quote) => ({ lead, quote })))
  if (quotes.length === 0) return leads.map(() => [])
  const quoteIds = idsInOrder(
    await tx.query<{ id: number }>({
      name: 'insert-quotes',
      text: INSERT_QUOTES,
      values: [
        quotes.map(({ lead }) => lead.accountId),
        quotes.map(({ lead }) => lead.leadId),
        quotes.map(({ quote }) => quote.status),
        quotes.map(({ lead }) => lead.createdAt),
      ],
    }),
  )
  const items = quotes.flatMap(({ lead, quote }, index) =>
    quote.items.map((item) => ({ lead, item, quoteId: quoteIds[index]! })),
  )
  const itemIds = idsInOrder(
    await tx.query<{ id: number }>({
      name: 'insert-quote-items',
      text: INSERT_ITEMS,
      values: [
        items.map(({ lead }) => lead.accountId),
        items.map(({ quoteId }) => quoteId),
        items.map(({ lead }) => lead.createdAt),
        ...itemColumns.map(([, , value]) => items.map(({ item }) => value(item) ?? null)),
      ],
    }),
  )
  const [nextQuote, nextItem] = [quoteIds.values(), itemIds.values()]
  return leads.map(({ leadId, createdAt, quotes: drafted }) =>
    drafted.map((quote) => {
      const id = nextQuote.next().value!
      const stamped = { createdAt, updatedAt: createdAt }
      const itemsOf = quote.items.map((item) => ({
        ...item,
        ...stamped,
        id: nextItem.next().value!,
        quoteId: id,
      }))
      return { ...quote, ...stamped, id, leadId, items: itemsOf }
    }),
  )
}
