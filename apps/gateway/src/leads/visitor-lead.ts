import type { NewLead, NewQuoteItem, Visitor } from '@leadwire/contracts'
import type { Static } from '@sinclair/typebox'
import type { Body } from '../validation/checker'
import { newLead } from './lead-fields'
import { createOptionsText } from './options-text'
import type { VisitorLead } from './visitor-lead-fields'

type Fields = Static<typeof VisitorLead>
type Quote = NonNullable<Fields['quotes']>[number]
type Item = NonNullable<Quote['items']>[number]

const newItem = (item: Item, options: string | undefined): NewQuoteItem => ({
  productStyleId: item.product_style_id,
  name: item.name,
  price: item.price,
  cost: item.cost,
  margin: item.margin,
  tax: item.tax,
  minimum: item.minimum,
  maximum: item.maximum,
  format: item.format ?? 'range',
  hidden: item.hidden ?? false,
  status: item.status ?? 'active',
  productStyleSku: item.product_style.sku,
  productStyleName: item.product_style.name,
  productName: item.product_style.product.name,
  imageId: item.image_id,
  // The fields of a form are strings in their order.
  options: options ?? JSON.stringify(item.options ?? {}),
})

/** `body` is the source of the fields. */
export const newVisitorLead = (visitor: Visitor, fields: Fields, body: Body): NewLead => {
  const lead = newLead(visitor, fields)
  const optionsText = body.json && fields.quotes?.length ? createOptionsText(body.json) : () => undefined
  return {
    ...lead,
    value: fields.value ?? lead.value,
    description: fields.description,
    userAgent: fields.user_agent ?? lead.userAgent,
    ip: fields.ip ?? lead.ip,
    referrerUrl: fields.referrer_url,
    test: lead.test || (fields.test ?? false),
    quotes: (fields.quotes ?? []).map((quote, i) => ({
      status: quote.status ?? 'complete',
      items: (quote.items ?? []).map((item, j) =>
        newItem(item, optionsText(['quotes', i, 'items', j, 'options'])),
      ),
    })),
  }
}

/** The images that quotes refer to, with their fields. The ids are unchecked. */
export const imagesOf = (fields: Record<string, unknown>): { field: string; id: unknown }[] => {
  const listOf = (value: unknown) => (Array.isArray(value) ? (value as Record<string, unknown>[]) : [])
  return listOf(fields['quotes']).flatMap((quote, i) =>
    listOf(quote?.['items']).map((item, j) => ({
      field: `quotes.${i}.items.${j}.image_id`,
      id: item?.['image_id'],
    })),
  )
}
