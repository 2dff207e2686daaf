import type { TObject, TSchema } from '@sinclair/typebox'
import fastJson from 'fast-json-stringify'
import { Customer, Image, type Lead, LeadListItem, Quote, QuoteItem } from './lead-records'

// As fast as JSON.stringify of a literal in the order of the interface (1.2 and 1.4 us a lead), and without that second definition.
const serializerSchema = (schema: TSchema): object => {
  const { type, properties } = schema
  if (type === 'object')
    return {
      type,
      properties: Object.fromEntries(
        Object.entries(properties as Record<string, TSchema>).map(([name, field]) => [
          name,
          serializerSchema(field),
        ]),
      ),
    }
  const [only, nullable] = [type].flat()
  return nullable ? { type: only, nullable: true, default: null } : { type: only }
}

/** Writes records of a schema as JSON, their fields in its order, without those of `without`. What is missing is null. */
const serializer = (schema: TObject, without: string[] = []) => {
  const fields = Object.entries(schema.properties).filter(([name]) => !without.includes(name))
  return fastJson(serializerSchema({ type: 'object', properties: Object.fromEntries(fields) } as never))
}

const writeLeadItem = serializer(LeadListItem)
const writeCustomer = serializer(Customer)
const writeQuote = serializer(Quote, ['items'])
// The options are placed as text: parsing them would reorder keys that look like numbers.
const writeItem = serializer(QuoteItem, ['options'])
const writeItemOfWebhook = serializer(QuoteItem, ['options', 'product_style'])
const writeImage = serializer(Image)

/** The JSON of a record with one more member at its end, whose value is JSON text already. */
const withMember = (json: string, name: string, value: string) => `${json.slice(0, -1)},"${name}":${value}}`

const quoteJson = (quote: Quote, productStyle: boolean) => {
  const write = productStyle ? writeItem : writeItemOfWebhook
  const items = quote.items.map((item) => withMember(write(item), 'options', item.options))
  return withMember(writeQuote(quote), 'items', `[${items.join(',')}]`)
}

/** The public JSON of a list item: the fields of a lead itself (interface: List item). */
export const leadItemJson = (lead: LeadListItem): string => writeLeadItem(lead)

/**
 * The members that a whole lead has beside those of a list item: customer and quotes, without braces. `productStyle` says whether
 * items carry their product_style: Retrieve shows it, the webhook does not.
 */
export const leadDetailsJson = (
  { customer, quotes }: Pick<Lead, 'customer' | 'quotes'>,
  { productStyle }: { productStyle: boolean },
): string => {
  const written = quotes.map((quote) => quoteJson(quote, productStyle)).join(',')
  return `"customer":${writeCustomer(customer)},"quotes":[${written}]`
}

/** The public JSON of a whole lead, its fields in the order of the interface. */
export const leadJson = (lead: Lead, options: { productStyle: boolean }): string =>
  `${leadItemJson(lead).slice(0, -1)},${leadDetailsJson(lead, options)}}`

/** The public JSON of an image or an attachment (interface: Image). */
export const imageJson = (image: Image): string => writeImage(image)
