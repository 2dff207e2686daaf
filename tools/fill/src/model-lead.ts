import {
  Customer,
  exampleOf,
  type Image,
  Lead,
  leadDetailsJson,
  leadItemJson,
  type Quote,
} from '@leadwire/contracts'

// A model is rendered once, as a service would render it, with numbers that occur nowhere else in place of what each row
// has of its own. PostgreSQL's format() puts that in: its n-th argument replaces mark(n).
const mark = (position: number) => 9_007_199_254_740_000 + position

const templateOf = (json: string) =>
  json.replaceAll('%', '%%').replace(/9007199254740(\d{3})/g, (_, position) => `%${Number(position)}$s`)

const [id, reference, number, value, createdAt, customerId] = [1, 2, 3, 4, 5, 6].map(mark) as [
  ...[number, number, number, number, number, number],
]

const lead: Lead = {
  ...(exampleOf(Lead) as Lead),
  ...{ id, reference: String(reference), name: `New windows, front of house ${number}`, value },
  ...{ postcode: 'SW1A 1AA', ip: '192.0.2.7', referrer: 'Website' },
  user_agent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  ...{ device_type: 'desktop', device_name: 'unknown', browser: 'Chrome' },
  ...{ browser_version: '120.0.0.0', os: 'Linux', os_version: 'unknown', status: 'open', type: 'quote' },
  ...{ test: 0, created_at: String(createdAt), updated_at: String(createdAt), quotes: [] },
  customer: {
    ...(exampleOf(Customer) as Customer),
    ...{
      id: customerId,
      first_name: 'Ada',
      last_name: `Byron ${number}`,
      name: `Ada Byron ${number}`,
    },
    ...{ email: `ada${number}@example.com`, phone: '020 7946 0000', phone_link: 'tel:+442079460000' },
    ...{ mobile: '07700 900123', mobile_link: 'tel:+447700900123' },
    ...{ postcode: 'SW1A 1AA', created_at: String(createdAt) },
  },
}

/** Arguments: id, reference, number, value, created_at, the customer's id. */
export const itemTemplate = templateOf(leadItemJson(lead))
export const detailsTemplate = templateOf(leadDetailsJson(lead, { productStyle: true }))

const itemOf = (n: number, image: Image) => ({
  ...{ id: mark(3 + n), quote_id: mark(1), product_style_id: 40 + n, name: `Casement window ${n}` },
  ...{ price: 41_250 + n, cost: null, margin: null, tax: null, minimum: null },
  ...{ maximum: null, format: 'range', hidden: 0 as const, status: 'active', image },
  ...{ created_at: String(mark(3)), updated_at: String(mark(3)) },
  product_style: { sku: `CW-${n}`, name: 'Casement', product: { name: 'Window' } },
  options:
    '{"width":1200,"height":1350,"external_frame_colour":"Anthracite Grey","internal_frame_colour":"White","glass":"Clear","frame_material":"uPVC"}',
})

/** The end of a lead's details with one quote of two items. Arguments: ids of quote and lead, created_at, the items' ids. */
export const quotesTemplate = (image: Image): string => {
  const quote: Quote = {
    ...{ id: mark(1), lead_id: mark(2), status: 'complete', items: [itemOf(1, image), itemOf(2, image)] },
    ...{ created_at: String(mark(3)), updated_at: String(mark(3)) },
  }
  const details = leadDetailsJson({ ...lead, quotes: [quote] }, { productStyle: true })
  return templateOf(details.slice(details.indexOf('"quotes":')))
}
