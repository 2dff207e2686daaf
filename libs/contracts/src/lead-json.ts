import { createHash } from 'node:crypto'
import type { TObject, TSchema } from '@sinclair/typebox'
import fastJson from 'fast-json-stringify'
import type { EventType } from './event-types'
import { Customer, Image, Lead, LeadListItem, Quote, QuoteItem } from './lead-records'
import { fieldNames } from './schema-fields'

// As fast as JSON.stringify of a literal in the order of the interface (1.2 and 1.4 us a lead), and without that second definition.
// What is missing is null.
const serializerSchema = ({ type, properties }: TSchema, without: string[] = []): object => {
  if (type === 'object') {
    const fields = Object.entries<TSchema>(properties).filter(([name]) => !without.includes(name))
    const schemas = fields.map(([name, field]) => [name, serializerSchema(field)])
    return { type, properties: Object.fromEntries(schemas) }
  }
  const [only, nullable] = [type].flat()
  return { type: only, ...(nullable && { nullable: true, default: null }) }
}

const serializer = (schema: TObject, without?: string[]) => fastJson(serializerSchema(schema, without))

const writeCustomer = serializer(Customer)
const writeQuote = serializer(Quote, ['items'])
// The options are placed as text: parsing them would reorder keys that look like numbers.
const writeItem = serializer(QuoteItem, ['options'])
const writeItemOfWebhook = serializer(QuoteItem, ['options', 'product_style'])

/** `value` is JSON text. */
const withMember = (json: string, name: string, value: string) => `${json.slice(0, -1)},"${name}":${value}}`

const quoteJson = (quote: Quote, productStyle: boolean) => {
  const write = productStyle ? writeItem : writeItemOfWebhook
  const items = quote.items.map((item) => withMember(write(item), 'options', item.options))
  return withMember(writeQuote(quote), 'items', `[${items.join(',')}]`)
}

// The public JSON of the interface: a list item (the fields of a lead itself), a whole lead, an image or attachment.
export const leadItemJson: (lead: LeadListItem) => string = serializer(LeadListItem)

/** The members that a lead has beside those of a list item, without braces. The webhook has no product_style. */
export const leadDetailsJson = (
  { customer, quotes }: Pick<Lead, 'customer' | 'quotes'>,
  { productStyle }: { productStyle: boolean },
): string => {
  const written = quotes.map((quote) => quoteJson(quote, productStyle)).join(',')
  return `"customer":${writeCustomer(customer)},"quotes":[${written}]`
}

export const leadJson = (lead: Lead, options: { productStyle: boolean }): string =>
  `${leadItemJson(lead).slice(0, -1)},${leadDetailsJson(lead, options)}}`

/** JSON of a lead with its attributes, which are JSON text. */
export const withAttributes = (lead: string, attributes: string): string =>
  withMember(lead, 'attributes', attributes)

export const imageJson: (image: Image) => string = serializer(Image)

/** Raise it when public JSON changes by anything but the fields: rows of an older format are then rendered from their columns. */
const FORMAT = 1

const FIELDS = JSON.stringify(fieldNames(Lead))

/** What leads.json_format says of the JSON of this release with this address of images (no slash at its end). */
export const leadJsonFormat = (assetsUrl: string, format = FORMAT): number =>
  createHash('sha256').update(`${format} ${FIELDS} ${assetsUrl}`).digest().readInt32BE()

/** Raise it whenever a lead is found by other words: those of all leads are then made anew. */
export const SEARCH_FORMAT = 3

/** The body of a webhook. `data` is JSON text. The interface's own event, Lead Created, does not name its type. */
export const eventBody = (type: EventType, data: string): Buffer =>
  Buffer.from(type === 'lead.created' ? `{"data":${data}}` : `{"type":"${type}","data":${data}}`)
