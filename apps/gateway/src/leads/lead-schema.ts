import { LEAD_STATUSES, VISITOR_REFERRERS } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { flag, leadReferenceSchema, nullableOf, timestamp } from '../api/schemas'
import { describe } from '../validation/fields'

const nullableText = (description: string, example?: string) => nullableOf('string', description, example)

export const Image = Type.Object(
  {
    id: Type.Integer({ examples: [5] }),
    name: nullableText('What it was called when it was sent.', 'Front elevation'),
    file_name: Type.String({ examples: ['front.png'] }),
    file_size: Type.Integer({ description: 'In bytes.', examples: [48213] }),
    content_type: Type.String({ examples: ['image/png'] }),
    alt: nullableText('Text for those who do not see the image.'),
    public: flag('1: anyone may read it at its url. 0: the url needs a bearer token.'),
    processed: flag('1 when the stored file is ready.'),
    created_at: timestamp('When it was stored.'),
    updated_at: timestamp('When the record changed last.'),
    url: Type.String({
      format: 'uri',
      examples: ['https://assets.example.com/images/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'],
    }),
  },
  { title: 'Image', description: 'A stored image, or a file attached to a lead.' },
)

export const Customer = Type.Object(
  {
    id: Type.Integer({ examples: [1] }),
    first_name: Type.String({ examples: ['Ada'] }),
    last_name: Type.String({ examples: ['Lovelace'] }),
    name: Type.String({ description: 'First and last name.', examples: ['Ada Lovelace'] }),
    company_name: nullableText('Null when no company is given.'),
    email: Type.String({ examples: ['ada@example.com'] }),
    phone: Type.String({ description: 'As it was given.', examples: ['020 7946 0123'] }),
    phone_link: Type.String({
      description: 'A tel: link (RFC 3966) of the first number.',
      examples: ['tel:+442079460123'],
    }),
    mobile: nullableText('As it was given.'),
    mobile_link: nullableText('A tel: link (RFC 3966); null when there is no mobile number.'),
    address_1: nullableText('First line of the address.'),
    address_2: nullableText('Second line of the address.'),
    city: nullableText('City.'),
    county: nullableText('County.'),
    postcode: Type.String({ examples: ['SW1A 1AA'] }),
    avatar_url: nullableText('Address of a picture.'),
    created_at: timestamp('When the customer was stored.'),
  },
  { title: 'Customer' },
)

export const QuoteItem = Type.Object(
  {
    id: Type.Integer({ examples: [3] }),
    quote_id: Type.Integer({ examples: [2] }),
    product_style_id: Type.Integer({ examples: [12] }),
    name: Type.String({ examples: ['Kitchen window'] }),
    price: Type.Integer({ description: 'In pence.', examples: [45900] }),
    cost: nullableOf('integer', 'In pence.'),
    margin: nullableOf('number', 'As it was given.'),
    tax: nullableOf('integer', 'An amount in pence.'),
    minimum: nullableOf('number', 'As it was given.'),
    maximum: nullableOf('number', 'As it was given.'),
    format: Type.String({ examples: ['range'] }),
    hidden: flag('1 when the item is not shown to the customer.'),
    status: Type.String({ examples: ['active'] }),
    created_at: timestamp('When the item was stored.'),
    updated_at: timestamp('When the item changed last.'),
    image: Image,
    product_style: Type.Object(
      {
        sku: Type.String({ examples: ['CAS-2'] }),
        name: Type.String({ examples: ['Casement, two panes'] }),
        product: Type.Object({ name: Type.String({ examples: ['Window'] }) }, { title: 'Product' }),
      },
      { title: 'ProductStyle', description: 'Only in answers, never in the webhook.' },
    ),
    options: Type.Unsafe<Record<string, string | number>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number'] },
      description:
        'Options of the product, given back as they came. Which keys there are depends on the product.',
      examples: [{ width: 1200, height: 900, glass: 'Clear', frame_material: 'uPVC' }],
    }),
  },
  { title: 'QuoteItem' },
)

export const Quote = Type.Object(
  {
    id: Type.Integer({ examples: [2] }),
    lead_id: Type.Integer({ examples: [1] }),
    status: Type.String({ examples: ['complete'] }),
    created_at: timestamp('When the quote was stored.'),
    updated_at: timestamp('When the quote changed last.'),
    items: Type.Array(QuoteItem),
  },
  { title: 'Quote' },
)

const device = (what: string, example: string) =>
  Type.String(describe(`${what}, told from the user agent; \`unknown\` when it can't be.`, example))

const leadFields = {
  id: Type.Integer({ examples: [1] }),
  reference: leadReferenceSchema('Identifies the lead in addresses.'),
  name: Type.String({ examples: ['New windows, front of house'] }),
  value: Type.Integer({ description: 'In pounds (GBP).', examples: [0] }),
  description: nullableText('Null when none was given.'),
  postcode: Type.String({ examples: ['SW1A 1AA'] }),
  user_agent: Type.String(
    describe("The visitor's browser.", 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0'),
  ),
  ip: Type.String({ description: "The visitor's address.", examples: ['203.0.113.7'] }),
  referrer: Type.Unsafe<string>({ type: 'string', enum: VISITOR_REFERRERS, examples: ['Website'] }),
  referrer_url: nullableText('Where the visitor came from.'),
  device_type: device('Class of the device', 'desktop'),
  device_name: device('Name of the device', 'unknown'),
  browser: device('Browser', 'Firefox'),
  browser_version: device('Version of the browser', '145.0'),
  os: device('Operating system', 'Linux'),
  os_version: device('Version of the operating system', 'unknown'),
  status: Type.Unsafe<string>({ type: 'string', enum: LEAD_STATUSES, examples: ['open'] }),
  type: Type.String({ examples: ['quote'] }),
  test: flag('1 marks a test lead: made with a test token, or with the status `test`.'),
  created_at: timestamp('When the lead was created.'),
  updated_at: timestamp('When the lead changed last.'),
}

export const LeadListItem = Type.Object(leadFields, {
  title: 'LeadListItem',
  description: 'A lead in a list.',
})

export const Lead = Type.Object(
  {
    ...leadFields,
    customer: Customer,
    quotes: Type.Array(Quote),
  },
  { title: 'Lead', description: 'A lead with its customer and quotes.' },
)
