import { Lead } from './generated/leadwire/leads/v1/lead'
import { imageJson, leadJson } from './lead-json'

const at = '2026-01-02T03:04:05.000001Z'

const lead = Lead.fromPartial({
  id: 7,
  reference: '6f1c2c0e-1111-4000-8000-000000000000',
  name: 'Bay window',
  test: true,
  createdAt: at,
  updatedAt: at,
  customer: { id: 3, firstName: 'Ada', lastName: 'Byron', createdAt: at },
  quotes: [
    {
      id: 1,
      leadId: 7,
      items: [
        {
          id: 2,
          quoteId: 1,
          hidden: true,
          image: { id: 9, public: true },
          productStyle: { sku: 'S', name: 'Style', productName: 'Window' },
          options: '{"width":1200.50,"10":"b","2":"a"}',
        },
      ],
    },
  ],
})

test('options keep their text, and flags are 1 or 0', () => {
  const json = leadJson(lead, { productStyle: true })
  expect(json).toContain('"options":{"width":1200.50,"10":"b","2":"a"}')
  const parsed = JSON.parse(json)
  expect(parsed).toMatchObject({ test: 1, customer: { name: 'Ada Byron', mobile: null } })
  expect(parsed.quotes[0].items[0]).toMatchObject({
    hidden: 1,
    image: { public: 1, processed: 0 },
    cost: null,
  })
})

test('product_style is shown only where it is asked for', () => {
  const styleOf = (productStyle: boolean) =>
    JSON.parse(leadJson(lead, { productStyle })).quotes[0].items[0].product_style
  expect(styleOf(true)).toEqual({ sku: 'S', name: 'Style', product: { name: 'Window' } })
  expect(styleOf(false)).toBeUndefined()
})

test('an image without name and alt shows them as null', () => {
  expect(JSON.parse(imageJson(lead.quotes[0]!.items[0]!.image!))).toMatchObject({
    name: null,
    alt: null,
    public: 1,
  })
})
