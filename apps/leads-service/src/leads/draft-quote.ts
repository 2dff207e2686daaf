import type { Image, NewQuote, NewQuoteItem, Quote, QuoteItem } from '@leadwire/contracts'
import { UNKNOWN } from './stamp-event'

const draftItem = (item: NewQuoteItem, image: Image): QuoteItem => ({
  id: UNKNOWN.id,
  quoteId: UNKNOWN.id,
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
  createdAt: UNKNOWN.createdAt,
  updatedAt: UNKNOWN.createdAt,
  image,
  productStyle: {
    sku: item.productStyleSku,
    name: item.productStyleName,
    productName: item.productName,
  },
  options: item.options,
})

/** A quote as the event shows it, without what only PostgreSQL can say. */
export const draftQuote = ({ status, items }: NewQuote, imageOf: (imageId: number) => Image): Quote => ({
  id: UNKNOWN.id,
  leadId: UNKNOWN.id,
  status,
  createdAt: UNKNOWN.createdAt,
  updatedAt: UNKNOWN.createdAt,
  items: items.map((item) => draftItem(item, imageOf(item.imageId))),
})
