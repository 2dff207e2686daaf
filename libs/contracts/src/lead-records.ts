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

// The single definition of the fields of a lead and its parts. SQL, public JSON, OpenAPI, CSV, erasures and
// samples are derived from this definition. docs/architecture.md lists what else a new field needs.

const personal = { [PERSONAL]: true } as const

// An import may set `dated_at`, the time at which the lead was created in another system. The column
// `created_at` is the time at which the row was stored, so it rises with the lead's number.
const CREATED_AT = 'coalesce(dated_at, created_at)'

export const Image = Type.Object(
  {
    id: integer({ examples: [5] }),
    name: nullableText('The name given when the file was uploaded.', { examples: ['Front elevation'] }),
    file_name: text({ examples: ['front.png'] }),
    file_size: integer({ description: 'Size of the file in bytes.', examples: [48213] }),
    content_type: text({ examples: ['image/png'] }),
    alt: nullableText('Alternative text of the image.'),
    public: flag('1 if `url` is public, 0 if `url` needs a bearer token.'),
    processed: flag('1 if the stored file is ready, otherwise 0.'),
    created_at: timestamp('When the file was stored.'),
    updated_at: timestamp('When the record was last updated.'),
    url: text({
      format: 'uri',
      examples: ['https://assets.example.com/images/0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10.png'],
    }),
  },
  { title: 'Image', description: 'A stored image, or a file attached to a lead.' },
)
export type Image = Static<typeof Image>

/** A lead has one customer, whose columns are in the lead's row. */
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
    company_name: nullableText("Name of the customer's company. null if no company was given.", personal),
    email: text({ examples: ['ada@example.com'], ...personal }),
    phone: text({ description: 'Telephone number, as given.', examples: ['020 7946 0123'], ...personal }),
    phone_link: text({
      description: 'A tel: link (RFC 3966) for the first number in `phone`.',
      examples: ['tel:+442079460123'],
      ...personal,
    }),
    mobile: nullableText('Mobile number, as given. null if no mobile number was given.', personal),
    mobile_link: nullableText('A tel: link (RFC 3966) for `mobile`. null if `mobile` is null.', personal),
    address_1: nullableText('First line of the address.', personal),
    address_2: nullableText('Second line of the address.', personal),
    city: nullableText('City.', personal),
    county: nullableText('County.', personal),
    postcode: text({ examples: ['SW1A 1AA'], [EXPRESSION]: 'postcode' }),
    avatar_url: nullableText('URL of a picture of the customer.', personal),
    created_at: timestamp('When the customer was created.', { [EXPRESSION]: CREATED_AT }),
  },
  { title: 'Customer' },
)
export type Customer = Static<typeof Customer>

/** The customer of a lead in the list for people. */
export const ListedCustomer = Type.Object(
  {
    name: Customer.properties.name,
    email: Customer.properties.email,
    phone: Customer.properties.phone,
    mobile: Customer.properties.mobile,
  },
  { title: 'ListedCustomer' },
)

const ProductStyle = Type.Object(
  {
    sku: text({ examples: ['CAS-2'] }),
    name: text({ examples: ['Casement, two panes'] }),
    product: Type.Object({ name: text({ examples: ['Window'] }) }, { title: 'Product' }),
  },
  {
    title: 'ProductStyle',
    description: 'The style of the product. Present in API responses, absent from webhooks.',
  },
)

export const QuoteItem = Type.Object(
  {
    id: integer({ examples: [3] }),
    quote_id: integer({ examples: [2] }),
    product_style_id: integer({ examples: [12] }),
    name: text({ examples: ['Kitchen window'], ...personal }),
    price: integer({ description: 'Price in pence.', examples: [45900] }),
    cost: nullableNumber('integer', 'Cost in pence.'),
    margin: nullableNumber('number', 'Margin, as given.'),
    tax: nullableNumber('integer', 'Tax amount in pence.'),
    minimum: nullableNumber('number', 'Minimum, as given.'),
    maximum: nullableNumber('number', 'Maximum, as given.'),
    format: text({ examples: ['range'], ...personal }),
    hidden: flag('1 if the item is hidden from the customer, otherwise 0.'),
    status: text({ examples: ['active'], ...personal }),
    created_at: timestamp('When the item was created.'),
    updated_at: timestamp('When the item was last updated.'),
    image: Image,
    product_style: ProductStyle,
    options: Type.Unsafe<Record<string, string | number>>({
      type: 'object',
      additionalProperties: { type: ['string', 'number'] },
      description: 'Product options, returned as they were sent. The keys depend on the product.',
      examples: [{ width: 1200, height: 900, glass: 'Clear', frame_material: 'uPVC' }],
    }),
  },
  { title: 'QuoteItem' },
)
/** `options` is JSON text, so that its keys keep their order and its numbers their spelling. */
export type QuoteItem = Omit<Static<typeof QuoteItem>, 'options'> & { options: string }

export const Quote = Type.Object(
  {
    id: integer({ examples: [2] }),
    lead_id: integer({ examples: [1] }),
    status: text({ examples: ['complete'], ...personal }),
    created_at: timestamp('When the quote was created.'),
    updated_at: timestamp('When the quote was last updated.'),
    items: Type.Array(QuoteItem),
  },
  { title: 'Quote' },
)
export type Quote = Omit<Static<typeof Quote>, 'items'> & { items: QuoteItem[] }

const device = (what: string, example: string) =>
  text({
    description: `${what}, detected from the user agent. \`unknown\` if detection fails.`,
    examples: [example],
    ...personal,
  })

export const LeadListItem = Type.Object(
  {
    id: integer({ examples: [1] }),
    reference: text({
      format: 'uuid',
      description: 'Identifies the lead in API paths.',
      examples: ['0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10'],
    }),
    name: text({ examples: ['New windows, front of house'], ...personal }),
    value: integer({ description: 'Value of the lead in GBP.', examples: [0] }),
    description: nullableText('Description of the lead. null if no description was given.', personal),
    postcode: text({ examples: ['SW1A 1AA'], ...personal }),
    user_agent: text({
      description: "User-agent string of the visitor's browser.",
      examples: ['Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0'],
      ...personal,
    }),
    ip: text({ description: "The visitor's IP address.", examples: ['203.0.113.7'], ...personal }),
    referrer: text({ enum: VISITOR_REFERRERS, examples: ['Website'] }),
    referrer_url: nullableText('URL of the page that the visitor came from.', personal),
    device_type: device('Class of the device', 'desktop'),
    device_name: device('Name of the device', 'unknown'),
    browser: device('Browser', 'Firefox'),
    browser_version: device('Version of the browser', '145.0'),
    os: device('Operating system', 'Linux'),
    os_version: device('Version of the operating system', 'unknown'),
    status: text({ enum: LEAD_STATUSES, examples: ['open'] }),
    type: text({ examples: ['quote'] }),
    test: flag(
      '1 if the lead was written as a test lead (`test: true` or a test token) or has the status `test`, otherwise 0.',
      { [EXPRESSION]: "(test OR status = 'test')::int" },
    ),
    created_at: timestamp('When the lead was created.', { [EXPRESSION]: CREATED_AT }),
    updated_at: timestamp('When the lead was last updated.'),
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

/** The fields of a lead that only the management interface shows. */
export const ManagedFields = Type.Object({
  external_id: nullableText('Your own ID for the lead, unique in the account.', personal),
  attributes: Type.Unsafe<Record<string, AttributeValue>>({
    type: 'object',
    additionalProperties: { type: ['string', 'number', 'boolean'] },
    description: 'Further data about the lead, such as `utm_source`. `{}` if the lead has no attributes.',
    examples: [{ utm_source: 'newsletter', returning: true }],
  }),
  duplicate_of: nullableText(
    'Reference of the lead that this lead duplicates. null if this lead is not marked as a duplicate, or if the original was erased.',
    {
      format: 'uuid',
      // A link to an erased lead is not shown.
      [EXPRESSION]: `(SELECT o.reference FROM leads o
      WHERE o.account_id = l.account_id AND o.id = l.duplicate_of_id AND o.erased_at IS NULL)`,
    },
  ),
})
