import { type Image, type Lead, leadDetailsJson, leadItemJson, type Quote } from '@leadwire/contracts'

// A model is rendered once, as a service would render it, with numbers that occur nowhere else in place of what each row
// has of its own. PostgreSQL's format() puts that in: its n-th argument replaces mark(n).
const mark = (position: number) => 9_007_199_254_740_000 + position

const templateOf = (json: string) =>
  json.replaceAll('%', '%%').replace(/9007199254740(\d{3})/g, (_, position) => `%${Number(position)}$s`)

const [id, reference, number, value, createdAt, customerId] = [1, 2, 3, 4, 5, 6].map(mark) as [
  ...[number, number, number, number, number, number],
]

const lead: Lead = {
  ...{ id, reference: String(reference), name: `New windows, front of house ${number}`, value },
  ...{ description: undefined, postcode: 'SW1A 1AA', ip: '192.0.2.7', referrer: 'Website' },
  userAgent:
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36',
  ...{ referrerUrl: undefined, deviceType: 'desktop', deviceName: 'unknown', browser: 'Chrome' },
  ...{ browserVersion: '120.0.0.0', os: 'Linux', osVersion: 'unknown', status: 'open', type: 'quote' },
  ...{ test: false, createdAt: String(createdAt), updatedAt: String(createdAt), quotes: [] },
  customer: {
    ...{ id: customerId, firstName: 'Ada', lastName: `Byron ${number}`, companyName: undefined },
    ...{ email: `ada${number}@example.com`, phone: '020 7946 0000', phoneLink: 'tel:+442079460000' },
    ...{ mobile: '07700 900123', mobileLink: 'tel:+447700900123', address1: undefined },
    ...{ address2: undefined, city: undefined, county: undefined, postcode: 'SW1A 1AA' },
    ...{ avatarUrl: undefined, createdAt: String(createdAt) },
  },
}

/** Arguments: id, reference, number, value, created_at, the customer's id. */
export const itemTemplate = templateOf(leadItemJson(lead))
export const detailsTemplate = templateOf(leadDetailsJson(lead, { productStyle: true }))

const itemOf = (n: number, image: Image) => ({
  ...{ id: mark(3 + n), quoteId: mark(1), productStyleId: 40 + n, name: `Casement window ${n}` },
  ...{ price: 41_250 + n, cost: undefined, margin: undefined, tax: undefined, minimum: undefined },
  ...{ maximum: undefined, format: 'range', hidden: false, status: 'active', image },
  ...{ createdAt: String(mark(3)), updatedAt: String(mark(3)) },
  productStyle: { sku: `CW-${n}`, name: 'Casement', productName: 'Window' },
  options:
    '{"width":1200,"height":1350,"external_frame_colour":"Anthracite Grey","internal_frame_colour":"White","glass":"Clear","frame_material":"uPVC"}',
})

/** The end of a lead's details with one quote of two items. Arguments: ids of quote and lead, created_at, the items' ids. */
export const quotesTemplate = (image: Image): string => {
  const quote: Quote = {
    ...{ id: mark(1), leadId: mark(2), status: 'complete', items: [itemOf(1, image), itemOf(2, image)] },
    ...{ createdAt: String(mark(3)), updatedAt: String(mark(3)) },
  }
  const details = leadDetailsJson({ ...lead, quotes: [quote] }, { productStyle: true })
  return templateOf(details.slice(details.indexOf('"quotes":')))
}
