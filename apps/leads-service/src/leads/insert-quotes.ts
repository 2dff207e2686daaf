import type { NewQuote, NewQuoteItem, Quote } from '@leadwire/contracts'
import type { Transaction } from '@leadwire/service-kit'
import { type ImageRow, imageOfRow } from '../attachments/image-row'

/** The quotes of one lead that was just inserted. */
export interface QuotesOfLead {
  accountId: number
  leadId: number
  createdAt: string
  quotes: NewQuote[]
}

const INSERT_QUOTES = `
  INSERT INTO quotes (account_id, lead_id, status, created_at, updated_at)
  SELECT account_id, lead_id, status, created_at, created_at
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::timestamptz[])
    WITH ORDINALITY AS t (account_id, lead_id, status, created_at, ord)
  ORDER BY ord
  RETURNING id`

const itemColumns: [column: string, type: string, value: (item: NewQuoteItem) => unknown][] = [
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
  ['product_style_sku', 'text', (item) => item.productStyleSku],
  ['product_style_name', 'text', (item) => item.productStyleName],
  ['product_name', 'text', (item) => item.productName],
  ['image_id', 'bigint', (item) => item.imageId],
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

/** Inserts the quotes and items of many leads; answers with the messages of each lead's quotes, in the order given. */
export const insertQuotes = async (
  tx: Transaction,
  leads: QuotesOfLead[],
  imageOf: (accountId: number, imageId: number) => ImageRow,
  assetsUrl: string,
): Promise<Quote[][]> => {
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
  let nextQuote = 0
  let nextItem = 0
  return leads.map(({ accountId, leadId, createdAt, quotes: given }) =>
    given.map((quote) => {
      const id = quoteIds[nextQuote++]!
      return {
        id,
        leadId,
        status: quote.status,
        createdAt,
        updatedAt: createdAt,
        items: quote.items.map((item) => ({
          id: itemIds[nextItem++]!,
          quoteId: id,
          productStyleId: item.productStyleId,
          name: item.name,
          price: item.price,
          cost: item.cost,
          margin: item.margin,
          tax: item.tax,
          minimum: item.minimum,
          maximum: item.maximum,
          format: item.format,
          hidden: item.hidden,
          status: item.status,
          createdAt,
          updatedAt: createdAt,
          image: imageOfRow(imageOf(accountId, item.imageId), assetsUrl),
          productStyle: {
            sku: item.productStyleSku,
            name: item.productStyleName,
            productName: item.productName,
          },
          options: item.options,
        })),
      }
    }),
  )
}
