import { VISITOR_REFERRERS } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { named } from '../api/schemas'
import { describe, id, integer, oneOf, text } from '../validation/fields'
import { CreateLead, leadValue } from './lead-fields'

const pence = (what: string) => integer(`${what} in pence.`, 45900)

const decimal = (description: string) => Type.Number(describe(description, 0.25))

const QuoteItem = named('QuoteItemRequest')({
  product_style_id: id('Your id of the product style.', 12),
  name: text(undefined, 'Kitchen window'),
  price: pence('Price'),
  cost: Type.Optional(pence('Cost')),
  margin: Type.Optional(decimal('Kept as it is given.')),
  tax: Type.Optional(pence('Tax, an amount')),
  minimum: Type.Optional(decimal('Kept as it is given.')),
  maximum: Type.Optional(decimal('Kept as it is given.')),
  format: Type.Optional(text('By default `range`.', 'range')),
  hidden: Type.Optional(Type.Boolean(describe('By default false.', false))),
  status: Type.Optional(text('By default `active`.', 'active')),
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
  product_style: named('ProductStyleRequest')({
    sku: text(undefined, 'CAS-2'),
    name: text(undefined, 'Casement, two panes'),
    product: named('ProductRequest')({ name: text(undefined, 'Window') }),
  }),
  image_id: id('An image sent before (POST /manage/images).', 5),
})

// leads-service limits quotes and items (LEAD_MAX_QUOTES, LEAD_MAX_ITEMS). These bounds limit what is checked, so that a body of errors
// costs no more than its response.
const Quote = named('QuoteRequest')({
  status: Type.Optional(text('By default `complete`.', 'complete')),
  items: Type.Optional(
    Type.Array(QuoteItem, {
      maxItems: 250,
      description: 'By default at most 250 in all quotes of a lead.',
    }),
  ),
})

/** A full visitor lead (design: section 5): the fields of Create Lead, and all others that a lead can have. */
export const VisitorLead = named('CreateVisitorLeadRequest')({
  ...CreateLead.properties,
  referrer: oneOf(VISITOR_REFERRERS, 'Where the lead came from.', 'Direct'),
  value: Type.Optional(leadValue),
  description: Type.Optional(
    text('May have many lines.', 'Would like to be called after six.', {
      maxLength: 10_000,
      format: 'lines',
    }),
  ),
  user_agent: Type.Optional(
    text(
      "The visitor's browser; by default that of the request.",
      'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
      { maxLength: 1024 },
    ),
  ),
  ip: Type.Optional(
    text("The visitor's address; by default that of the request.", '203.0.113.7', { format: 'ip' }),
  ),
  referrer_url: Type.Optional(text(undefined, 'https://search.example/?q=windows', { maxLength: 2048 })),
  test: Type.Optional(Type.Boolean(describe('Marks a test lead.', false))),
  quotes: Type.Optional(Type.Array(Quote, { maxItems: 50, description: 'By default at most 20.' })),
})
