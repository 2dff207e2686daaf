import { VISITOR_REFERRERS } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { id, integer, oneOf, text } from '../validation/fields'
import { CreateLead, leadValue } from './lead-fields'

const pence = (what: string) => integer({ description: `${what} in pence.`, examples: [45900] })

const decimal = (description: string) => Type.Number({ description, examples: [0.25] })

const QuoteItem = Type.Object({
  product_style_id: id({ description: 'Your id of the product style.', examples: [12] }),
  name: text({ examples: ['Kitchen window'] }),
  price: pence('Price'),
  cost: Type.Optional(pence('Cost')),
  margin: Type.Optional(decimal('Kept as it is given.')),
  tax: Type.Optional(pence('Tax, an amount')),
  minimum: Type.Optional(decimal('Kept as it is given.')),
  maximum: Type.Optional(decimal('Kept as it is given.')),
  format: Type.Optional(text({ description: 'By default `range`.', examples: ['range'] })),
  hidden: Type.Optional(Type.Boolean({ description: 'By default false.', examples: [false] })),
  status: Type.Optional(text({ description: 'By default `active`.', examples: ['active'] })),
  options: Type.Optional(
    Type.Unsafe<Record<string, string | number>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number'], maxLength: 255 },
      propertyNames: { type: 'string', maxLength: 255 },
      maxProperties: 100,
      description:
        'Options of the product: strings and numbers, given back exactly as they came and in their order.',
      examples: [{ width: 1200, height: 900, glass: 'Clear' }],
    }),
  ),
  product_style: Type.Object({
    sku: text({ examples: ['CAS-2'] }),
    name: text({ examples: ['Casement, two panes'] }),
    product: Type.Object({ name: text({ examples: ['Window'] }) }),
  }),
  image_id: id({ description: 'An image sent before (POST /manage/images).', examples: [5] }),
})

// What a lead may have of quotes and items is leads-service's to say (LEAD_MAX_QUOTES, LEAD_MAX_ITEMS). These bounds are what
// is looked at, so that a body made of faults costs no more than its answer.
const Quote = Type.Object({
  status: Type.Optional(text({ description: 'By default `complete`.', examples: ['complete'] })),
  items: Type.Optional(
    Type.Array(QuoteItem, { maxItems: 250, description: 'By default at most 250 in all quotes of a lead.' }),
  ),
})

/** A full visitor lead (design: section 5): what Create Lead takes, and all that a lead can carry beyond it. */
export const VisitorLead = Type.Object({
  ...CreateLead.properties,
  referrer: oneOf(VISITOR_REFERRERS, { description: 'Where the lead came from.', examples: ['Direct'] }),
  value: Type.Optional(leadValue),
  description: Type.Optional(text({ maxLength: 10_000, examples: ['Would like to be called after six.'] })),
  user_agent: Type.Optional(
    text({
      maxLength: 1024,
      description: "The visitor's browser; by default that of the request.",
      examples: ['Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0'],
    }),
  ),
  ip: Type.Optional(
    text({
      format: 'ip',
      description: "The visitor's address; by default that of the request.",
      examples: ['203.0.113.7'],
    }),
  ),
  referrer_url: Type.Optional(text({ maxLength: 2048, examples: ['https://search.example/?q=windows'] })),
  test: Type.Optional(Type.Boolean({ description: 'Marks a test lead.', examples: [false] })),
  quotes: Type.Optional(Type.Array(Quote, { maxItems: 50, description: 'By default at most 20.' })),
})
