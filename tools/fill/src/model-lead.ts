import {
  buildExampleRecord,
  Customer,
  type Image,
  Lead,
  leadDetailsJson,
  leadItemJson,
  type Quote,
} from '@leadwire/contracts'

// Services render the JSON of a lead. This module renders it once, with a placeholder for each value that
// differs between leads, and turns the result into a template for PostgreSQL's format(). The n-th argument of
// format() replaces the n-th placeholder. Placeholders are numbers that occur nowhere else in the JSON.
const createPlaceholder = (position: number) => 9_007_199_254_740_000 + position

/** Turns JSON with placeholders into a template for format(). */
const renderTemplate = (json: string) =>
  json.replaceAll('%', '%%').replace(/9007199254740(\d{3})/g, (_, position) => `%${Number(position)}$s`)

const id = createPlaceholder(1)
const reference = createPlaceholder(2)
const number = createPlaceholder(3)
const value = createPlaceholder(4)
const createdAt = createPlaceholder(5)
const customerId = createPlaceholder(6)

const lead: Lead = {
  ...(buildExampleRecord(Lead) as Lead),
  id,
  reference: String(reference),
  name: `New windows, front of house ${number}`,
  value,
  postcode: 'SW1A 1AA',
  ip: '192.0.2.7',
  referrer: 'Website',
  user_agent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  device_type: 'desktop',
  device_name: 'unknown',
  browser: 'Chrome',
  browser_version: '120.0.0.0',
  os: 'Linux',
  os_version: 'unknown',
  status: 'open',
  type: 'quote',
  test: 0,
  created_at: String(createdAt),
  updated_at: String(createdAt),
  quotes: [],
  customer: {
    ...(buildExampleRecord(Customer) as Customer),
    id: customerId,
    first_name: 'Ada',
    last_name: `Byron ${number}`,
    name: `Ada Byron ${number}`,
    email: `ada${number}@example.com`,
    phone: '020 7946 0000',
    phone_link: 'tel:+442079460000',
    mobile: '07700 900123',
    mobile_link: 'tel:+447700900123',
    postcode: 'SW1A 1AA',
    created_at: String(createdAt),
  },
}

/** Arguments of both templates: id, reference, number, value, created_at, the customer's id. */
export const itemTemplate = renderTemplate(leadItemJson(lead))
export const detailsTemplate = renderTemplate(leadDetailsJson(lead, { productStyle: true }))

const createItem = (n: number, image: Image) => ({
  id: createPlaceholder(3 + n),
  quote_id: createPlaceholder(1),
  product_style_id: 40 + n,
  name: `Casement window ${n}`,
  price: 41_250 + n,
  cost: null,
  margin: null,
  tax: null,
  minimum: null,
  maximum: null,
  format: 'range',
  hidden: 0 as const,
  status: 'active',
  image,
  created_at: String(createPlaceholder(3)),
  updated_at: String(createPlaceholder(3)),
  product_style: { sku: `CW-${n}`, name: 'Casement', product: { name: 'Window' } },
  options:
    '{"width":1200,"height":1350,"external_frame_colour":"Anthracite Grey","internal_frame_colour":"White","glass":"Clear","frame_material":"uPVC"}',
})

/**
 * Renders a template for the end of a lead's details: one quote with two items.
 * Arguments: the quote's id, the lead's id, created_at, the ids of both items.
 */
export const renderQuotesTemplate = (image: Image): string => {
  const quote: Quote = {
    id: createPlaceholder(1),
    lead_id: createPlaceholder(2),
    status: 'complete',
    items: [createItem(1, image), createItem(2, image)],
    created_at: String(createPlaceholder(3)),
    updated_at: String(createPlaceholder(3)),
  }
  const details = leadDetailsJson({ ...lead, quotes: [quote] }, { productStyle: true })
  return renderTemplate(details.slice(details.indexOf('"quotes":')))
}
