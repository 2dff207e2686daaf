import type { Lead } from './lead-records'

const AT = '2026-01-02T03:04:05.000001Z'

/** A lead with a quote of one item. */
export const leadFixture: Lead = {
  ...{ id: 7, reference: '6f1c2c0e-1111-4000-8000-000000000000', name: 'Bay window', value: 0 },
  ...{ description: null, postcode: 'SW1A 1AA', user_agent: 'curl/8', ip: '192.0.2.7', referrer: 'Website' },
  ...{ referrer_url: null, device_type: 'unknown', device_name: 'unknown', browser: 'unknown' },
  ...{ browser_version: 'unknown', os: 'unknown', os_version: 'unknown', status: 'open', type: 'quote' },
  ...{ test: 1, created_at: AT, updated_at: AT },
  customer: {
    ...{ id: 3, first_name: 'Ada', last_name: 'Byron', name: 'Ada Byron', company_name: null },
    ...{ email: 'ada@example.com', phone: '020 7946 0000', phone_link: 'tel:+442079460000', mobile: null },
    ...{ mobile_link: null, address_1: null, address_2: null, city: null, county: null },
    ...{ postcode: 'SW1A 1AA', avatar_url: null, created_at: AT },
  },
  quotes: [
    {
      ...{ id: 1, lead_id: 7, status: 'complete', created_at: AT, updated_at: AT },
      items: [
        {
          ...{ id: 2, quote_id: 1, product_style_id: 4, name: 'Casement', price: 41_250, cost: null },
          ...{ margin: null, tax: null, minimum: null, maximum: 0.5, format: 'range', hidden: 1 },
          ...{ status: 'active', created_at: AT, updated_at: AT },
          image: {
            ...{
              id: 9,
              name: null,
              file_name: 'front.png',
              file_size: 3,
              content_type: 'image/png',
              alt: null,
            },
            ...{ public: 1, processed: 0, created_at: AT, updated_at: AT, url: 'https://assets.test/9.png' },
          },
          product_style: { sku: 'S', name: 'Style', product: { name: 'Window' } },
          options: '{"width":1200.50,"10":"b","2":"a"}',
        },
      ],
    },
  ],
}
