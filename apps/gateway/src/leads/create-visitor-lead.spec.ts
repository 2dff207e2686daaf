import type { CreateLead } from '@leadwire/contracts'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const ITEM = {
  product_style_id: 12,
  name: 'Kitchen window',
  price: 45900,
  product_style: { sku: 'CAS-2', name: 'Casement', product: { name: 'Window' } },
  image_id: 5,
}
const LEAD = {
  name: 'Windows',
  first_name: 'Ada',
  last_name: 'Lovelace',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Direct',
  status: 'open',
}

let gateway: RunningGateway
let asked: CreateLead[]
beforeAll(async () => {
  gateway = await startGateway({
    leads: {
      createLeads: async ({ leads }) => {
        asked.push(...leads)
        return { results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from('{}') } })) }
      },
    },
  })
})
beforeEach(() => {
  asked = []
})
afterAll(() => gateway.stop())

const create = (payload: string | object, type = 'application/json') =>
  gateway.send({ method: 'POST', url: '/manage/leads', payload, headers: { 'content-type': type } })

const withItems = (...items: object[]) => ({ ...LEAD, quotes: [{ items }] })

/**
 * Creates a lead whose item has `options`, the exact JSON in the request. Returns the options that
 * leads-service receives.
 */
const optionsFor = async (options: string) => {
  const item = `${JSON.stringify(ITEM).slice(0, -1)},"options":${options}}`
  const response = await create(`${JSON.stringify(LEAD).slice(0, -1)},"quotes":[{"items":[${item}]}]}`)
  expect(response.statusCode).toBe(200)
  return asked[0]!.lead!.quotes[0]!.items[0]!.options
}

test('of many keys that are not allowed some are named, and of a long one the beginning', async () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`K${n}`, 1]))
  const { statusCode, body } = await create({ ...LEAD, attributes: { ['k'.repeat(5000)]: [], ...many } })
  expect(statusCode).toBe(422)
  expect(body.length).toBeLessThan(5000)
})

test('everything a lead can carry is passed on', async () => {
  const visitor = {
    value: '4500',
    description: 'Call after six.',
    user_agent: 'Visitor/1.0',
    ip: '2001:db8::1',
    referrer_url: 'https://search.example/?q=windows',
    test: 1,
  }
  const extras = {
    cost: 1,
    margin: 0.25,
    tax: '7',
    minimum: '1.5',
    maximum: 2,
    format: 'fixed',
    hidden: '1',
    status: 'off',
  }
  await create({ ...LEAD, ...visitor, quotes: [{ status: 'draft', items: [{ ...ITEM, ...extras }] }] })
  expect(asked[0]!.lead).toMatchObject({
    value: 4500,
    description: 'Call after six.',
    userAgent: 'Visitor/1.0',
    ip: '2001:db8::1',
    referrer: 'Direct',
    referrerUrl: 'https://search.example/?q=windows',
    test: true,
    quotes: [
      {
        status: 'draft',
        items: [
          {
            productStyleId: 12,
            price: 45900,
            cost: 1,
            margin: 0.25,
            tax: 7,
            minimum: 1.5,
            maximum: 2,
            format: 'fixed',
            hidden: true,
            status: 'off',
            productStyleSku: 'CAS-2',
            productStyleName: 'Casement',
            productName: 'Window',
            imageId: 5,
            options: '{}',
          },
        ],
      },
    ],
  })
})

test('what a quote and an item leave out is what the interface shows', async () => {
  await create(withItems(ITEM))
  expect(asked[0]!.lead!.quotes).toMatchObject([
    { status: 'complete', items: [{ format: 'range', hidden: false, status: 'active', cost: undefined }] },
  ])
})

test.each([
  ['keys that look like numbers keep their place', '{"b":1,"10":"x","2":3}', '{"b":1,"10":"x","2":3}'],
  ['numbers keep their spelling', '{"w":1.50,"h":1e3,"n":-0}', '{"w":1.50,"h":1e3,"n":-0}'],
  ['numbers beyond doubles keep their digits', '{"n":12345678901234567890}', '{"n":12345678901234567890}'],
  ['white space goes', ' { "a" : 1 ,\n "b" : "x y" } ', '{"a":1,"b":"x y"}'],
  ['strings are not trimmed, escapes stay', '{"a":"  x\\u00e9\\n ","":""}', '{"a":"  x\\u00e9\\n ","":""}'],
  ['of a key that comes twice the last counts', '{"a":1,"b":2,"\\u0061":3}', '{"b":2,"\\u0061":3}'],
  ['__proto__ is a key', '{"__proto__":"x"}', '{"__proto__":"x"}'],
  ['null is none', 'null', '{}'],
  ['none is none', '{}', '{}'],
])('options: %s', async (_name, given, kept) => {
  expect(await optionsFor(given)).toBe(kept)
})

test('options are those of the members that count when members come twice', async () => {
  const item = (options: string) =>
    `${JSON.stringify(ITEM).slice(0, -1)},"options":{"a":0},"options":${options}}`
  const quotes = (options: string) => `"quotes":[{"items":[],"items":[${item('{"x":0}')},${item(options)}]}]`
  await create(`{${quotes('{"n":1.0}')},${quotes('{"n":2.0}')},${JSON.stringify(LEAD).slice(1)}`)
  expect(asked[0]!.lead!.quotes[0]!.items.map(({ options }) => options)).toEqual(['{"x":0}', '{"n":2.0}'])
})

test('options of a form are strings in their order', async () => {
  const fields = new URLSearchParams({
    ...LEAD,
    'quotes[0][items][0][name]': 'W',
    'quotes[0][items][0][price]': '5',
  })
  for (const [name, value] of [
    ['[product_style_id]', '1'],
    ['[image_id]', '5'],
    ['[product_style][sku]', 's'],
    ['[product_style][name]', 'n'],
    ['[product_style][product][name]', 'p'],
    ['[options][width]', '1200'],
    ['[options][glass]', 'Clear'],
  ]) {
    fields.append(`quotes[0][items][0]${name}`, value!)
  }
  const response = await create(fields.toString(), 'application/x-www-form-urlencoded')
  expect(response.statusCode).toBe(200)
  expect(asked[0]!.lead!.quotes[0]!.items[0]).toMatchObject({
    price: 5,
    options: '{"width":"1200","glass":"Clear"}',
  })
})

const path = 'quotes.0.items.0'
const label = 'quotes.0.items.0'

test.each<[object, Record<string, string[]>]>([
  [{ name: undefined }, { [`${path}.name`]: [`The ${label}.name field is required.`] }],
  [{ price: 1.5 }, { [`${path}.price`]: [`The ${label}.price must be an integer.`] }],
  [{ image_id: 'x' }, { [`${path}.image_id`]: [`The ${label}.image id must be an integer.`] }],
  [
    { product_style: { sku: 's', name: 'n' } },
    { [`${path}.product_style.product`]: [`The ${label}.product style.product field is required.`] },
  ],
  [{ product_style: 'x' }, { [`${path}.product_style`]: [`The ${label}.product style must be an object.`] }],
  [{ options: [] }, { [`${path}.options`]: [`The ${label}.options must be an object.`] }],
  [
    { options: { a: true } },
    { [`${path}.options.a`]: [`The ${label}.options.a must be a string or a number.`] },
  ],
  [
    { options: { a: null } },
    { [`${path}.options.a`]: [`The ${label}.options.a must be a string or a number.`] },
  ],
  [
    { options: { a: 'x'.repeat(256) } },
    { [`${path}.options.a`]: [`The ${label}.options.a may not be greater than 255 characters.`] },
  ],
  [
    { options: { a: 'x\0' } },
    { [`${path}.options.a`]: [`The ${label}.options.a contains a NUL or an unpaired surrogate. Remove it.`] },
  ],
])('an error is reported by its path: %j', async (change, errors) => {
  const response = await create(withItems({ ...ITEM, ...change }))
  expect(response.statusCode).toBe(422)
  expect(response.json().errors).toEqual(errors)
})

test('a number beyond all doubles is no number', async () => {
  const item = `${JSON.stringify(ITEM).slice(0, -1)},"options":{"a":1e999}}`
  const response = await create(`${JSON.stringify(LEAD).slice(0, -1)},"quotes":[{"items":[${item}]}]}`)
  expect(response.statusCode).toBe(422)
})

test.each([
  ['value', -1],
  ['value', 2147483648],
  ['ip', '1.2.3'],
  ['referrer', 'Newspaper'],
  ['description', 'x'.repeat(10_001)],
  ['referrer_url', 'x'.repeat(2049)],
  ['test', 'yes'],
  ['quotes', {}],
])('%s %j is an error', async (field, value) => {
  const response = await create({ ...LEAD, [field]: value })
  expect(response.statusCode).toBe(422)
  expect(Object.keys(response.json().errors)).toEqual([field])
})

test('the images of an invalid lead are not looked up', async () => {
  const response = await create(
    withItems({ ...ITEM, image_id: 101 }, { ...ITEM, name: '' }, { ...ITEM, image_id: 'x' }),
  )
  const fields = ['quotes.0.items.1.name', 'quotes.0.items.2.image_id']
  expect(Object.keys(response.json().errors)).toEqual(fields)
  expect(asked).toEqual([])
})

test('a body of errors gets a bounded response', async () => {
  const response = await create({ ...LEAD, quotes: Array(200).fill({ items: Array(1500).fill(0) }) })
  expect(response.statusCode).toBe(422)
  expect(Object.keys(response.json().errors).length).toBeLessThanOrEqual(1001)
})

test('large bodies leave room for a small one that came later', async () => {
  const padding = 'x'.repeat(100_000)
  const large = Array.from({ length: 10 }, () => create({ ...LEAD, name: 'Large', padding }))
  const small = create({ ...LEAD, name: 'Small' })
  for (const response of await Promise.all([...large, small])) expect(response.statusCode).toBe(200)
  const order = asked.map(({ lead }) => lead!.name)
  expect(order).toHaveLength(11)
  expect(order.at(-1)).toBe('Large')
})

test('large leads in flight hold up no small one', async () => {
  let finish: () => void = () => undefined
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  let underWay = 0
  let full: () => void = () => undefined
  const twoUnderWay = new Promise<void>((resolve) => {
    full = resolve
  })
  const busy = await startGateway({
    leads: {
      createLeads: async ({ leads }) => {
        if (leads.some(({ lead }) => lead!.name === 'Large')) {
          underWay += 1
          if (underWay === 2) full()
          await finished
        }
        return { results: leads.map(() => ({ result: { $case: 'body', value: Buffer.from('{}') } })) }
      },
    },
  })
  const send = (payload: object) => busy.send({ method: 'POST', url: '/manage/leads', payload })
  const quotes = [1, 2].map(() => ({ items: new Array(200).fill(ITEM) }))
  const large = [1, 2, 3].map(() => send({ ...LEAD, name: 'Large', quotes }))
  await twoUnderWay
  expect((await send({ ...LEAD, name: 'Small' })).statusCode).toBe(200)
  finish()
  for (const response of await Promise.all(large)) expect(response.statusCode).toBe(200)
  await busy.stop()
})
