import { leadFixture as lead } from './lead.fixture'
import { imageJson, leadJson } from './lead-json'

test('a lead is written as it is, its fields in the order of the interface', () => {
  const quotes = [{ ...lead.quotes[0], items: [{ ...lead.quotes[0]!.items[0], options: undefined }] }]
  const written = JSON.stringify({ ...lead, quotes }).slice(0, -'}]}]}'.length)
  const options = `,"options":${lead.quotes[0]!.items[0]!.options}}]}]}`
  expect(leadJson(lead, { productStyle: true })).toBe(written + options)
})

test('a field without a value is null', () => {
  const { description: _, ...without } = lead
  expect(JSON.parse(leadJson(without as typeof lead, { productStyle: true }))).toMatchObject({
    description: null,
  })
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
  const renderStyle = (productStyle: boolean) =>
    JSON.parse(leadJson(lead, { productStyle })).quotes[0].items[0].product_style
  expect(renderStyle(true)).toEqual({ sku: 'S', name: 'Style', product: { name: 'Window' } })
  expect(renderStyle(false)).toBeUndefined()
})

test('an image without name and alt shows them as null', () => {
  expect(JSON.parse(imageJson(lead.quotes[0]!.items[0]!.image))).toMatchObject({
    name: null,
    alt: null,
    public: 1,
  })
})
