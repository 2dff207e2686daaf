import {
  ATTRIBUTE_BYTES,
  ATTRIBUTE_KEY,
  type AttributeValue,
  isInvisible,
  MAX_ATTRIBUTES,
  manyLines,
  type NewLead,
  type NewQuoteItem,
  VISITOR_REFERRERS,
  type Visitor,
} from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import { type Node, parseTree } from 'jsonc-parser'
import { named } from '../api/schemas'
import type { Body } from '../validation/checker'
import { describe, id, integer, oneOf, optional, text } from '../validation/fields'
import { CreateLead, leadValue, newLead } from './lead-fields'

const pence = (what: string) => integer(`${what} in pence.`, 45900)

const decimal = (description: string) => Type.Number(describe(description, 0.25))

const QuoteItem = named('QuoteItemRequest', {
  product_style_id: id('Your id of the product style.', 12),
  name: text(undefined, 'Kitchen window'),
  price: pence('Price'),
  ...optional({
    cost: pence('Cost'),
    margin: decimal('Kept as it is given.'),
    tax: pence('Tax, an amount'),
    minimum: decimal('Kept as it is given.'),
    maximum: decimal('Kept as it is given.'),
    format: text('By default `range`.', 'range'),
    hidden: Type.Boolean(describe('By default false.', false)),
    status: text('By default `active`.', 'active'),
    options: Type.Unsafe<Record<string, string | number>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number'], maxLength: 255 },
      propertyNames: { type: 'string', maxLength: 255 },
      maxProperties: 100,
      description:
        'Options of the product: strings and numbers, given back exactly as they came and in their order.',
      examples: [{ width: 1200, height: 900, glass: 'Clear' }],
    }),
  }),
  product_style: named('ProductStyleRequest', {
    sku: text(undefined, 'CAS-2'),
    name: text(undefined, 'Casement, two panes'),
    product: named('ProductRequest', { name: text(undefined, 'Window') }),
  }),
  image_id: id('An image sent before (POST /manage/images).', 5),
})

// leads-service limits quotes and items (LEAD_MAX_QUOTES, LEAD_MAX_ITEMS). These bounds limit what is checked, so that a body of errors
// costs no more than its response.
const Quote = named('QuoteRequest', {
  ...optional({
    status: text('By default `complete`.', 'complete'),
    items: Type.Array(QuoteItem, {
      maxItems: 250,
      description: 'By default at most 250 in all quotes of a lead.',
    }),
  }),
})

/** A full visitor lead (design: section 5): the fields of Create Lead, and all others that a lead can have. */
export const VisitorLead = named('CreateVisitorLeadRequest', {
  ...CreateLead.properties,
  referrer: oneOf(VISITOR_REFERRERS, 'Where the lead came from.', 'Direct'),
  ...optional({
    value: leadValue,
    description: text('May have many lines.', 'Would like to be called after six.', {
      maxLength: 10_000,
      format: 'lines',
    }),
    user_agent: text(
      "The visitor's browser; by default that of the request.",
      'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
      { maxLength: 1024 },
    ),
    ip: text("The visitor's address; by default that of the request.", '203.0.113.7', { format: 'ip' }),
    referrer_url: text(undefined, 'https://search.example/?q=windows', { maxLength: 2048 }),
    test: Type.Boolean(describe('Marks a test lead.', false)),
    quotes: Type.Array(Quote, { maxItems: 50, description: 'By default at most 20.' }),
    attributes: Type.Unsafe<Record<string, AttributeValue | null>>({
      type: 'object',
      additionalProperties: {
        type: ['string', 'number', 'boolean', 'null'],
        maxLength: ATTRIBUTE_BYTES,
        // Others would change silently: ids of advertisements are longer.
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        format: 'attribute',
      },
      propertyNames: { type: 'string', pattern: ATTRIBUTE_KEY.source },
      maxProperties: MAX_ATTRIBUTES,
      description:
        'What else is known of the lead, such as `utm_source`, `gclid` or `landing_page`: up to 30 texts of up to 1 KiB, numbers and booleans. Keys have up to 40 lower-case letters, digits and underscores, a letter first.',
    }),
    external_id: text('Your own id of the lead, unique in the account.'),
  }),
})

type Step = string | number

// Of two members with one name the last counts, as for JSON.parse.
const memberOf = (node: Node | undefined, name: string): Node | undefined =>
  node?.children?.findLast((property) => property.children?.[0]?.value === name)?.children?.[1]

const follow = (root: Node | undefined, path: Step[]): Node | undefined =>
  path.reduce<Node | undefined>(
    (node, step) => (typeof step === 'number' ? node?.children?.[step] : memberOf(node, step)),
    root,
  )

const sliceOf = (source: string, node: Node) => source.slice(node.offset, node.offset + node.length)

/** The sources of the elements of an array that is a member of an object. */
export const elementTexts = (json: string, name: string): string[] =>
  (memberOf(parseTree(json, [], { disallowComments: true }), name)?.children ?? []).map((node) =>
    sliceOf(json, node),
  )

const membersText = (source: string, object: Node): string => {
  const members = new Map<unknown, string>()
  for (const { children } of object.children ?? []) {
    const [key, value] = children as [Node, Node]
    // A repeated key counts at its last place.
    members.delete(key.value)
    members.set(key.value, `${sliceOf(source, key)}:${sliceOf(source, value)}`)
  }
  return `{${[...members.values()].join(',')}}`
}

/**
 * The source text of objects inside a JSON text, without the white space between their members. It keeps the order of keys, even of
 * numeric ones, and the spelling of numbers (design: Options), which JavaScript objects do not. Members must be strings and numbers.
 * Undefined for a path to no object.
 */
const createOptionsText = (json: string): ((path: Step[]) => string | undefined) => {
  const root = parseTree(json, [], { disallowComments: true })
  return (path) => {
    const node = follow(root, path)
    return node?.type === 'object' ? membersText(json, node) : undefined
  }
}

export type VisitorFields = Static<typeof VisitorLead>

/** As JSON. As anywhere a text without a visible character counts as null, which removes an attribute. */
const attributesText = (given: VisitorFields['attributes']): string | undefined =>
  given &&
  JSON.stringify(given, (_key, value) =>
    typeof value === 'string' ? (isInvisible(value) ? null : manyLines(value).trim()) : value,
  )

const newItem = (item: Static<typeof QuoteItem>, options: string | undefined): NewQuoteItem => ({
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
export const newVisitorLead = (visitor: Visitor, fields: VisitorFields, body: Body): NewLead => {
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
    attributes: attributesText(fields.attributes),
    externalId: fields.external_id,
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
