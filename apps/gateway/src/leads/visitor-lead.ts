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
import {
  type Body,
  CreateLeadBody,
  describe,
  enumeration,
  id,
  integer,
  leadValue,
  optional,
  text,
  toNewLead,
} from '@leadwire/requests'
import { type Static, Type } from '@sinclair/typebox'
import { type Node, parseTree } from 'jsonc-parser'
import { named } from '../api/schemas'

const pence = (what: string) => integer(`${what} in pence.`, 45900)

const decimal = (description: string) => Type.Number(describe(description, 0.25))

const QuoteItem = named('QuoteItemRequest', {
  product_style_id: id('Your own ID for the product style.', 12),
  name: text(undefined, 'Kitchen window'),
  price: pence('Price'),
  ...optional({
    cost: pence('Cost'),
    margin: decimal('Margin, stored as given.'),
    tax: pence('Tax amount'),
    minimum: decimal('Minimum, stored as given.'),
    maximum: decimal('Maximum, stored as given.'),
    format: text('Format of the item. Default `range`.', 'range'),
    hidden: Type.Boolean(describe('Whether to hide the item from the customer. Default false.', false)),
    status: text('Status of the item. Default `active`.', 'active'),
    options: Type.Unsafe<Record<string, string | number>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number'], maxLength: 255 },
      propertyNames: { type: 'string', maxLength: 255 },
      maxProperties: 100,
      description:
        'Product options: strings and numbers, returned exactly as they were sent and in the same order.',
      examples: [{ width: 1200, height: 900, glass: 'Clear' }],
    }),
  }),
  product_style: named('ProductStyleRequest', {
    sku: text(undefined, 'CAS-2'),
    name: text(undefined, 'Casement, two panes'),
    product: named('ProductRequest', { name: text(undefined, 'Window') }),
  }),
  image_id: id('The ID of an image created with POST /manage/images.', 5),
})

// leads-service enforces the limits of quotes and items (LEAD_MAX_QUOTES, LEAD_MAX_ITEMS). The maximum in
// this schema only limits how many items are checked, because each invalid item adds errors to the response.
const Quote = named('QuoteRequest', {
  ...optional({
    status: text('Status of the quote. Default `complete`.', 'complete'),
    items: Type.Array(QuoteItem, {
      maxItems: 250,
      description:
        'Items of the quote. All quotes of a lead may have 250 items in total, unless the operator has set another limit.',
    }),
  }),
})

/** The body of a full visitor lead. It has the fields of Create Lead and all other fields of a lead. */
export const VisitorLeadBody = named('CreateVisitorLeadRequest', {
  ...CreateLeadBody.properties,
  referrer: enumeration(VISITOR_REFERRERS, 'Where the lead came from.', 'Direct'),
  ...optional({
    value: leadValue,
    description: text(
      'Description of the lead. May have several lines.',
      'Would like to be called after six.',
      {
        maxLength: 10_000,
        format: 'lines',
      },
    ),
    user_agent: text(
      "User-agent string of the visitor's browser. Default: the User-Agent of the request.",
      'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
      { maxLength: 1024 },
    ),
    ip: text("The visitor's IP address. Default: the address that sends the request.", '203.0.113.7', {
      format: 'ip',
    }),
    referrer_url: text(undefined, 'https://search.example/?q=windows', { maxLength: 2048 }),
    test: Type.Boolean(
      describe('Whether the lead is a test lead. A test token always creates test leads.', false),
    ),
    quotes: Type.Array(Quote, {
      maxItems: 50,
      description: 'Quotes of the lead: at most 20, unless the operator has set another limit.',
    }),
    attributes: Type.Unsafe<Record<string, AttributeValue | null>>({
      type: 'object',
      additionalProperties: {
        type: ['string', 'number', 'boolean', 'null'],
        maxLength: ATTRIBUTE_BYTES,
        // JSON.parse would silently change larger numbers, such as the ids of advertisements.
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
        format: 'attribute',
      },
      propertyNames: { type: 'string', pattern: ATTRIBUTE_KEY.source },
      maxProperties: MAX_ATTRIBUTES,
      description:
        'Further data about the lead, such as `utm_source`, `gclid` or `landing_page`. At most 30 attributes. A value is a string of up to 1 KiB, a number or a boolean. A key has at most 40 lower-case letters, digits and underscores, and starts with a letter.',
    }),
    external_id: text('Your own ID for the lead, unique in the account.'),
  }),
})

type Step = string | number

// If two members have the same name, returns the last of them, as JSON.parse does.
const findMember = (node: Node | undefined, name: string): Node | undefined =>
  node?.children?.findLast((property) => property.children?.[0]?.value === name)?.children?.[1]

const follow = (root: Node | undefined, path: Step[]): Node | undefined =>
  path.reduce<Node | undefined>(
    (node, step) => (typeof step === 'number' ? node?.children?.[step] : findMember(node, step)),
    root,
  )

const readSource = (source: string, node: Node) => source.slice(node.offset, node.offset + node.length)

/** Returns the source texts of the elements of an array that is a member of an object. */
export const listElementSources = (json: string, name: string): string[] =>
  (findMember(parseTree(json, [], { disallowComments: true }), name)?.children ?? []).map((node) =>
    readSource(json, node),
  )

const joinMembers = (source: string, object: Node): string => {
  const members = new Map<unknown, string>()
  for (const { children } of object.children ?? []) {
    const [key, value] = children as [Node, Node]
    // If a key is repeated, keeps only the last member with this key, at the position of this member.
    members.delete(key.value)
    members.set(key.value, `${readSource(source, key)}:${readSource(source, value)}`)
  }
  return `{${[...members.values()].join(',')}}`
}

/**
 * Makes the function that returns the source text of the options at a path in a JSON text. Options must be
 * stored exactly as they were sent, but JavaScript objects lose the order of numeric keys and the spelling of
 * numbers. The members of the options must be strings and numbers. The function removes the white space
 * between members. The function returns undefined if there is no object at the path.
 */
const createOptionsReader = (json: string): ((path: Step[]) => string | undefined) => {
  const root = parseTree(json, [], { disallowComments: true })
  return (path) => {
    const node = follow(root, path)
    return node?.type === 'object' ? joinMembers(json, node) : undefined
  }
}

export type VisitorFields = Static<typeof VisitorLeadBody>

/**
 * Renders attributes as JSON. A text without a visible character becomes null, which removes the attribute.
 */
const writeAttributes = (given: VisitorFields['attributes']): string | undefined =>
  given &&
  JSON.stringify(given, (_key, value) => {
    if (typeof value !== 'string') return value
    return isInvisible(value) ? null : manyLines(value).trim()
  })

const toQuoteItem = (item: Static<typeof QuoteItem>, options: string | undefined): NewQuoteItem => ({
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
  // A form has no source text. The options of a form are strings, which JSON.stringify does not change.
  options: options ?? JSON.stringify(item.options ?? {}),
})

/**
 * Converts the fields of a full visitor lead to the message for leads-service. `body` contains the source
 * text of the fields.
 */
export const toVisitorLead = (visitor: Visitor, fields: VisitorFields, body: Body): NewLead => {
  const lead = toNewLead(visitor, fields)
  const readOptions = body.json && fields.quotes?.length ? createOptionsReader(body.json) : () => undefined
  return {
    ...lead,
    value: fields.value ?? lead.value,
    description: fields.description,
    userAgent: fields.user_agent ?? lead.userAgent,
    ip: fields.ip ?? lead.ip,
    referrerUrl: fields.referrer_url,
    test: lead.test || (fields.test ?? false),
    attributes: writeAttributes(fields.attributes),
    externalId: fields.external_id,
    quotes: (fields.quotes ?? []).map((quote, i) => ({
      status: quote.status ?? 'complete',
      items: (quote.items ?? []).map((item, j) =>
        toQuoteItem(item, readOptions(['quotes', i, 'items', j, 'options'])),
      ),
    })),
  }
}
