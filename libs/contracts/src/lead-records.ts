import { type Static, Type } from '@sinclair/typebox'
import { LEAD_STATUSES, VISITOR_REFERRERS } from './lead-values'
import {
  COLUMN,
  EXPRESSION,
  flag,
  integer,
  nullableNumber,
  nullableText,
  PERSONAL,
  text,
  timestamp,
} from './schema-fields'

// The one table of what a lead and its parts have. SQL, public JSON, OpenAPI, CSV, erasures and samples follow from it.
// docs/architecture.md lists what a new field needs beside its line here.

const personal = { [PERSONAL]: true } as const

export const Image = Type.Object(
  {
    id: integer({ examples: [5] }),
    name: nullableText('What it was called when it was sent.', { examples: ['Front elevation'] }),
    file_name: text({ examples: ['front.png'] }),
    file_size: integer({ description: 'In bytes.', examples: [48213] }),
    content_type: text({ examples: ['image/png'] }),
    alt: nullableText('Text for those who do not see the image.'),
    public: flag('1: anyone may read it at its url. 0: the url needs a bearer token.'),
    processed: flag('1 when the stored file is ready.'),
    created_at: timestamp('When it was stored.'),
    updated_at: timestamp('When the record changed last.'),
    url: text({
      format: 'uri',
      examples: ['https://assets.example.com/images/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'],
    }),
  },
  { title: 'Image', description: 'A stored image, or a file attached to a lead.' },
)
export type Image = Static<typeof Image>

/** A lead has one customer, whose columns stand in the lead's row. */
export const Customer = Type.Object(
  {
    id: integer({ examples: [1], [COLUMN]: 'customer_id' }),
    first_name: text({ examples: ['Ada'], ...personal }),
    last_name: text({ examples: ['Lovelace'], ...personal }),
    name: text({
      description: 'First and last name.',
      examples: ['Ada Lovelace'],
      [EXPRESSION]: `trim(concat(first_name, ' ', last_name))`,
    }),
    company_name: nullableText('Null when no company is given.', personal),
    email: text({ examples: ['ada@example.com'], ...personal }),
    phone: text({ description: 'As it was given.', examples: ['020 7946 0123'], ...personal }),
    phone_link: text({
      description: 'A tel: link (RFC 3966) of the first number.',
      examples: ['tel:+442079460123'],
      ...personal,
    }),
    mobile: nullableText('As it was given.', personal),
    mobile_link: nullableText('A tel: link (RFC 3966); null when there is no mobile number.', personal),
    address_1: nullableText('First line of the address.', personal),
    address_2: nullableText('Second line of the address.', personal),
    city: nullableText('City.', personal),
    county: nullableText('County.', personal),
    postcode: text({ examples: ['SW1A 1AA'], [EXPRESSION]: 'postcode' }),
    avatar_url: nullableText('Address of a picture.', personal),
    created_at: timestamp('When the customer was stored.', { [EXPRESSION]: 'created_at' }),
  },
  { title: 'Customer' },
)
export type Customer = Static<typeof Customer>

const ProductStyle = Type.Object(
  {
    sku: text({ examples: ['CAS-2'] }),
    name: text({ examples: ['Casement, two panes'] }),
    product: Type.Object({ name: text({ examples: ['Window'] }) }, { title: 'Product' }),
  },
  { title: 'ProductStyle', description: 'Only in answers, never in the webhook.' },
)

export const QuoteItem = Type.Object(
  {
    id: integer({ examples: [3] }),
    quote_id: integer({ examples: [2] }),
    product_style_id: integer({ examples: [12] }),
    name: text({ examples: ['Kitchen window'], ...personal }),
    price: integer({ description: 'In pence.', examples: [45900] }),
    cost: nullableNumber('integer', 'In pence.'),
    margin: nullableNumber('number', 'As it was given.'),
    tax: nullableNumber('integer', 'An amount in pence.'),
    minimum: nullableNumber('number', 'As it was given.'),
    maximum: nullableNumber('number', 'As it was given.'),
    format: text({ examples: ['range'], ...personal }),
    hidden: flag('1 when the item is not shown to the customer.'),
    status: text({ examples: ['active'], ...personal }),
    created_at: timestamp('When the item was stored.'),
    updated_at: timestamp('When the item changed last.'),
    image: Image,
    product_style: ProductStyle,
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
/** `options` is the text of its JSON: its keys keep their order and its numbers their spelling. */
export type QuoteItem = Omit<Static<typeof QuoteItem>, 'options'> & { options: string }

export const Quote = Type.Object(
  {
    id: integer({ examples: [2] }),
    lead_id: integer({ examples: [1] }),
    status: text({ examples: ['complete'], ...personal }),
    created_at: timestamp('When the quote was stored.'),
    updated_at: timestamp('When the quote changed last.'),
    items: Type.Array(QuoteItem),
  },
  { title: 'Quote' },
)
export type Quote = Omit<Static<typeof Quote>, 'items'> & { items: QuoteItem[] }

const device = (what: string, example: string) =>
  text({
    description: `${what}, read from the user agent; \`unknown\` when it can't be.`,
    examples: [example],
    ...personal,
  })

export const LeadListItem = Type.Object(
  {
    id: integer({ examples: [1] }),
    reference: text({
      format: 'uuid',
      description: 'Identifies the lead in addresses.',
      examples: ['0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'],
    }),
    name: text({ examples: ['New windows, front of house'], ...personal }),
    value: integer({ description: 'In pounds (GBP).', examples: [0] }),
    description: nullableText('Null when none was given.', personal),
    postcode: text({ examples: ['SW1A 1AA'], ...personal }),
    user_agent: text({
      description: "The visitor's browser.",
      examples: ['Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0'],
      ...personal,
    }),
    ip: text({ description: "The visitor's address.", examples: ['203.0.113.7'], ...personal }),
    referrer: text({ enum: VISITOR_REFERRERS, examples: ['Website'] }),
    referrer_url: nullableText('Where the visitor came from.', personal),
    device_type: device('Class of the device', 'desktop'),
    device_name: device('Name of the device', 'unknown'),
    browser: device('Browser', 'Firefox'),
    browser_version: device('Version of the browser', '145.0'),
    os: device('Operating system', 'Linux'),
    os_version: device('Version of the operating system', 'unknown'),
    status: text({ enum: LEAD_STATUSES, examples: ['open'] }),
    type: text({ examples: ['quote'] }),
    test: flag('1 marks a test lead: made with a test token, or with the status `test`.', {
      [EXPRESSION]: "(test OR status = 'test')::int",
    }),
    created_at: timestamp('When the lead was created.'),
    updated_at: timestamp('When the lead changed last.'),
  },
  { title: 'LeadListItem', description: 'A lead in a list.' },
)
export type LeadListItem = Static<typeof LeadListItem>

export const Lead = Type.Object(
  { ...LeadListItem.properties, customer: Customer, quotes: Type.Array(Quote) },
  { title: 'Lead', description: 'A lead with its customer and quotes.' },
)
export type Lead = LeadListItem & { customer: Customer; quotes: Quote[] }

export type AttributeValue = string | number | boolean

/** What only the management interface shows of a lead. */
export const ManagedFields = Type.Object({
  external_id: nullableText('Your own id of the lead, unique in the account.', personal),
  attributes: Type.Unsafe<Record<string, AttributeValue>>({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    description: 'What else is known of the lead, such as `utm_source`. `{}` when nothing is.',
    examples: [{ utm_source: 'newsletter', returning: true }],
  }),
  duplicate_of: nullableText('Reference of the lead that it is a duplicate of.', {
    format: 'uuid',
    // Not of an erased lead: its links vanish.
    [EXPRESSION]: `(SELECT o.reference FROM leads o
      WHERE o.account_id = l.account_id AND o.id = l.duplicate_of_id AND o.erased_at IS NULL)`,
  }),
})

export const ManagedLead = Type.Object(
  { ...LeadListItem.properties, ...ManagedFields.properties, customer: Customer, quotes: Type.Array(Quote) },
  { title: 'ManagedLead', description: 'A lead with all that is kept of it.' },
)
