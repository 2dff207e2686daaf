import { createHash } from 'node:crypto'
import { leadJson, leadJsonFormat } from './lead-json'
import type { Lead } from './lead-records'

const AT = '2026-01-02T03:04:05.000000Z'

const LEAD: Lead = {
  id: 1,
  reference: 'r',
  name: 'n',
  value: 1,
  description: 'd',
  postcode: 'p',
  user_agent: 'u',
  ip: 'i',
  referrer: 'r',
  referrer_url: 'u',
  device_type: 't',
  device_name: 'n',
  browser: 'b',
  browser_version: 'v',
  os: 'o',
  os_version: 'v',
  status: 's',
  type: 't',
  test: 1,
  created_at: AT,
  updated_at: AT,
  customer: {
    id: 2,
    first_name: 'f',
    last_name: 'l',
    name: 'f l',
    company_name: 'c',
    email: 'e',
    phone: 'p',
    phone_link: 'l',
    mobile: 'm',
    mobile_link: 'l',
    address_1: 'a',
    address_2: 'a',
    city: 'c',
    county: 'c',
    postcode: 'p',
    avatar_url: 'a',
    created_at: AT,
  },
  quotes: [
    {
      id: 3,
      lead_id: 1,
      status: 's',
      created_at: AT,
      updated_at: AT,
      items: [
        {
          id: 4,
          quote_id: 3,
          product_style_id: 5,
          name: 'n',
          price: 6,
          cost: 7,
          margin: 8,
          tax: 9,
          minimum: 10,
          maximum: 11,
          format: 'f',
          hidden: 1,
          status: 's',
          options: '{}',
          created_at: AT,
          updated_at: AT,
          product_style: { sku: 's', name: 'n', product: { name: 'p' } },
          image: {
            id: 12,
            name: 'n',
            file_name: 'f',
            file_size: 13,
            content_type: 'c',
            alt: 'a',
            public: 1,
            processed: 1,
            created_at: AT,
            updated_at: AT,
            url: 'u',
          },
        },
      ],
    },
  ],
}

// Rows store rendered JSON with its format number. If this test fails, this release renders different JSON.
// Raise FORMAT, so that older rows are rendered again. After that, put the new digest and the new format
// here.
test('JSON that is made another way has another format', () => {
  const json = leadJson(LEAD, { productStyle: true })
  const digest = createHash('sha256').update(json).digest('hex').slice(0, 16)
  expect({ digest, format: leadJsonFormat('') }).toEqual({ digest: '1976ffd8a6348f76', format: 700699570 })
})
