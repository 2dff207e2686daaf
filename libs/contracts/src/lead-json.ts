import { createHash } from 'node:crypto'
import type { TObject, TSchema } from '@sinclair/typebox'
import fastJson from 'fast-json-stringify'
import type { EventType } from './event-types'
import { Customer, Image, Lead, LeadListItem, Quote, QuoteItem } from './lead-records'
import { fieldNames } from './schema-fields'

// Makes the schema of a serializer from a record's schema, with the same order of fields. A missing nullable
// field becomes null. Such a serializer needs no second definition of the fields. It takes 1.2 us per lead,
// and JSON.stringify of a hand-written literal takes 1.4 us.
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

const writeQuote = serializer(Quote, ['items'])
// `options` is inserted as text, because parsing it would reorder keys that look like numbers.
const writeItem = serializer(QuoteItem, ['options'])
const writeItemOfWebhook = serializer(QuoteItem, ['options', 'product_style'])

/** Adds a member to a JSON object. `value` is JSON text. */
const withMember = (json: string, name: string, value: string) => `${json.slice(0, -1)},"${name}":${value}}`

const quoteJson = (quote: Quote, productStyle: boolean) => {
  const write = productStyle ? writeItem : writeItemOfWebhook
  const items = quote.items.map((item) => withMember(write(item), 'options', item.options))
  return withMember(writeQuote(quote), 'items', `[${items.join(',')}]`)
}

/** Renders the public JSON of a list item: a lead without its customer and quotes. */
export const leadItemJson: (lead: LeadListItem) => string = serializer(LeadListItem)

/** Renders the member `customer` of a lead. */
export const customerJson: (customer: Customer) => string = serializer(Customer)

/**
 * Renders the members `customer` and `quotes`, which a list item lacks, without the braces of an object.
 * Webhooks leave out `product_style`.
 */
export const leadDetailsJson = (
  { customer, quotes }: Pick<Lead, 'customer' | 'quotes'>,
  { productStyle }: { productStyle: boolean },
): string => {
  const written = quotes.map((quote) => quoteJson(quote, productStyle)).join(',')
  return `"customer":${customerJson(customer)},"quotes":[${written}]`
}

export const leadJson = (lead: Lead, options: { productStyle: boolean }): string =>
  `${leadItemJson(lead).slice(0, -1)},${leadDetailsJson(lead, options)}}`

/** Adds `attributes`, which is JSON text, to the JSON of a lead. */
export const withAttributes = (lead: string, attributes: string): string =>
  withMember(lead, 'attributes', attributes)

export const imageJson: (image: Image) => string = serializer(Image)

/**
 * Raise this number when the public JSON changes although the list of its fields stays the same. (A change of
 * the list changes the format automatically.) Rows with JSON of an older format are then rendered from their
 * columns.
 */
const FORMAT = 1

const FIELDS = JSON.stringify(fieldNames(Lead))

/**
 * Returns the value of leads.json_format for JSON that this release renders. `assetsUrl`, without a trailing
 * slash, is the start of the URLs of images in this JSON.
 */
export const leadJsonFormat = (assetsUrl: string, format = FORMAT): number =>
  createHash('sha256').update(`${format} ${FIELDS} ${assetsUrl}`).digest().readInt32BE()

/**
 * Raise this number whenever you change the rules that make a lead's search terms. The search terms of all
 * leads are then written again.
 */
export const SEARCH_FORMAT = 4

/**
 * Returns the body of a webhook. `data` is JSON text. The lead API defines the event Lead Created, whose
 * body has no `type`.
 */
export const eventBody = (type: EventType, data: string): Buffer =>
  Buffer.from(type === 'lead.created' ? `{"data":${data}}` : `{"type":"${type}","data":${data}}`)
