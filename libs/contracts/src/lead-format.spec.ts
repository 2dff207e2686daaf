import { createHash } from 'node:crypto'
import { leadJsonFormat } from './lead-format'
import { leadJson } from './lead-json'

const AT = '2026-01-02T03:04:05.000000Z'

const LEAD = {
  ...{ id: 1, reference: 'r', name: 'n', value: 1, description: 'd', postcode: 'p', userAgent: 'u', ip: 'i' },
  ...{ referrer: 'r', referrerUrl: 'u', deviceType: 't', deviceName: 'n', browser: 'b', browserVersion: 'v' },
  ...{ os: 'o', osVersion: 'v', status: 's', type: 't', test: true, createdAt: AT, updatedAt: AT },
  customer: {
    ...{ id: 2, firstName: 'f', lastName: 'l', companyName: 'c', email: 'e', phone: 'p', phoneLink: 'l' },
    ...{ mobile: 'm', mobileLink: 'l', address1: 'a', address2: 'a', city: 'c', county: 'c', postcode: 'p' },
    ...{ avatarUrl: 'a', createdAt: AT },
  },
  quotes: [
    {
      ...{ id: 3, leadId: 1, status: 's', createdAt: AT, updatedAt: AT },
      items: [
        {
          ...{ id: 4, quoteId: 3, productStyleId: 5, name: 'n', price: 6, cost: 7, margin: 8, tax: 9 },
          ...{ minimum: 10, maximum: 11, format: 'f', hidden: true, status: 's', options: '{}' },
          ...{ createdAt: AT, updatedAt: AT, productStyle: { sku: 's', name: 'n', productName: 'p' } },
          image: {
            ...{ id: 12, name: 'n', fileName: 'f', fileSize: 13, contentType: 'c', alt: 'a', public: true },
            ...{ processed: true, createdAt: AT, updatedAt: AT, url: 'u' },
          },
        },
      ],
    },
  ],
}

// Rows keep the JSON that was made of them. When it is made another way and its format has the same number, rows of before are
// shown as they were: raise FORMAT, then put both new values here.
test('JSON that is made another way has another format', () => {
  const json = leadJson(LEAD, { productStyle: true })
  const digest = createHash('sha256').update(json).digest('hex').slice(0, 16)
  expect({ digest, format: leadJsonFormat('') }).toEqual({ digest: '1976ffd8a6348f76', format: 264574550 })
})
