import { Event } from '@leadwire/contracts'
import type { ServiceError } from '@leadwire/service-kit'
import {
  ASSETS_URL,
  buildQuote,
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  type RunningLeadsService,
  readLeadPage,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

// Characters that JSON escapes, and characters that only some encoders escape.
const AWKWARD = '"é\\\b\f\n\r\t\u0001\u001f/<\u007f\u2028😀'

test('quotes, items and images come back as they were given, options to the letter', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId, { alt: 'a window' })
  const options = '{"width":1200.50,"10":"b","2":"a"}'
  const item = itemWith(image, { margin: 0.25, options })
  const quotes = [
    buildQuote(item, { ...item, name: 'Second', cost: 1, minimum: -0.5, maximum: 1e21 }),
    buildQuote({ ...item, name: 'Third' }),
  ]
  const response = await service.leads.createLeads({
    leads: [
      newItem(accountId, { lead: newLead({ quotes, name: AWKWARD, status: 'test', lastName: AWKWARD }) }),
    ],
  })
  const [lead] = readOutcomes(response)
  expect(lead).toMatchObject({ name: AWKWARD, test: 1, customer: { name: `Ada ${AWKWARD}` } })
  expect(
    lead.quotes.map((quote: { items: { name: string }[] }) => quote.items.map(({ name }) => name)),
  ).toEqual([['Casement', 'Second'], ['Third']])
  expect(lead.quotes[0].items[0]).toMatchObject({
    margin: 0.25,
    cost: null,
    hidden: 0,
    product_style: { sku: 'CAS-1', name: 'Casement', product: { name: 'Window' } },
    image: { id: image.id, alt: 'a window', url: `${ASSETS_URL}/${image.url.slice(ASSETS_URL.length + 1)}` },
  })
  const retrieved = await service.leads.retrieveLeads({
    leads: [{ accountId, reference: lead.reference.toUpperCase() }],
  })
  const created = response.results[0]!.result!
  expect(retrieved.results[0]!.result).toEqual(created)
  expect(String(created.value)).toContain(`"options":${options}`)
  const listed = await service.leads.listLeads({ pages: [{ accountId, page: 1 }] })
  const listItem = String(readLeadPage(listed.results[0]!).items).slice('['.length, -'}]'.length)
  expect(String(created.value)).toContain(`{"data":${listItem},"customer":`)
})

test('an image of another account is an error of the item that names it', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const quotes = [buildQuote(itemWith(await newImage(service, other.accountId)))]
  const [outcome] = readOutcomes(
    await service.leads.createLeads({ leads: [newItem(mine.accountId, { lead: newLead({ quotes }) })] }),
  )
  expect(outcome.failure.fieldErrors).toEqual({
    'quotes.0.items.0.image_id': ['The selected image id is invalid.'],
  })
})

const readFieldErrors = (outcome: { failure: ServiceError }) => {
  expect(outcome.failure.code).toBe('invalid')
  return outcome.failure.fieldErrors
}

test('a lead with too many quotes or items is refused with both figures and its other errors, and harms no neighbour', async () => {
  const { accountId } = await newAccount(service)
  const item = itemWith(await newImage(service, accountId))
  const items = (count: number) => new Array<typeof item>(count).fill(item)
  const create = async (...quotes: number[][]) =>
    readOutcomes(
      await service.leads.createLeads({
        leads: quotes.map((counts) =>
          newItem(accountId, {
            lead: newLead({ quotes: counts.map((count) => buildQuote(...items(count))), userId: 987_654 }),
          }),
        ),
      }),
    )
  const [most, tooMany] = await create([...new Array(19).fill(10), 60], [...new Array(20).fill(10), 51])
  expect(readFieldErrors(most)).toEqual({ user_id: ['The selected user id is invalid.'] })
  expect(readFieldErrors(tooMany)).toEqual({
    quotes: [
      'A lead may not have more than 20 quotes; this one has 21.',
      'A lead may not have more than 250 items in all; this one has 251.',
    ],
    user_id: ['The selected user id is invalid.'],
  })
})

const HEADERS = [
  'NATS/1.0',
  'Nats-Msg-Id: 00000000-0000-0000-0000-000000000000:9007199254740991',
  'traceparent: 00-00000000000000000000000000000000-0000000000000000-01',
]

/** Returns the size of a published event, including its longest possible headers. */
const publishedBytes = (payload: Uint8Array) => payload.length + `${HEADERS.join('\r\n')}\r\n\r\n`.length

test('the event of a lead with quotes shows no product_style, and all else as the response does', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId)
  const quotes = [buildQuote(itemWith(image), itemWith(image))]
  service.committed.length = 0
  const [lead] = readOutcomes(
    await service.leads.createLeads({ leads: [newItem(accountId, { lead: newLead({ quotes }) })] }),
  )
  const { data } = JSON.parse(Buffer.from(Event.decode(service.committed[0]!.payload).body).toString())
  for (const quote of lead.quotes) for (const item of quote.items) delete item.product_style
  expect(data).toEqual(lead)
})

test('no lead without quotes has an event that a limit of 200,000 bytes refuses', async () => {
  const { accountId } = await newAccount(service)
  const text = (length: number) => '\u0001'.repeat(length)
  const phone = `1${text(254)}`
  const own = { phone, mobile: phone, name: text(255), userAgent: text(1024), ip: text(255) }
  const lead = newLead({
    ...own,
    firstName: text(255),
    lastName: text(255),
    companyName: text(255),
    description: text(10_000),
    referrerUrl: text(2048),
  })
  service.committed.length = 0
  await service.leads.createLeads({ leads: [newItem(accountId, { lead })] })
  expect(service.committed[0]!.payload.length).toBeLessThan(200_000 - 1000)
})

// Makes PostgreSQL draw ids as long as the ids with which `listSizeErrors` measures an event.
const useLongestIds = async ({ db }: RunningLeadsService) => {
  for (const table of ['leads', 'quotes', 'quote_items'])
    await db.query({ text: `ALTER TABLE ${table} ALTER COLUMN id RESTART WITH 9007199254740000` })
  await db.query({ text: 'ALTER SEQUENCE customers_id_seq RESTART WITH 9007199254740000' })
}

test.each([
  ['with quotes', 3],
  ['without quotes', 0],
])('an event of exactly as many bytes as it may have is made, and of one more is not: %s', async (_, count) => {
  const own = await startLeadsService()
  const { accountId } = await newAccount(own)
  await useLongestIds(own)
  const image = await newImage(own, accountId, { alt: 'é'.repeat(255), name: '🪟.png' })
  const quotes =
    count === 0 ? [] : [buildQuote(...new Array(count).fill(itemWith(image, { options: '{"é":"🪟"}' })))]
  const item = newItem(accountId, { lead: newLead({ quotes, description: 'x'.repeat(2000) }) })
  await own.leads.createLeads({ leads: [item] })
  const bytes = publishedBytes(own.committed[0]!.payload)
  await own.stop()

  for (const spare of [0, -1]) {
    const limited = await startLeadsService({ maxEventBytes: bytes + spare })
    const other = await newAccount(limited)
    await useLongestIds(limited)
    const again = await newImage(limited, other.accountId, { alt: 'é'.repeat(255), name: '🪟.png' })
    const same = {
      ...item,
      accountId: other.accountId,
      lead: {
        ...item.lead!,
        quotes: quotes.map(({ status, items }) => ({
          status,
          items: items.map((one) => ({ ...one, imageId: again.id })),
        })),
      },
    }
    const [outcome] = readOutcomes(await limited.leads.createLeads({ leads: [same] }))
    if (spare === 0) expect(publishedBytes(limited.committed[0]!.payload)).toBe(bytes)
    else {
      const figure = (value: number) => value.toLocaleString('en-GB')
      expect(readFieldErrors(outcome)).toEqual({
        [count === 0 ? 'description' : 'quotes']: [
          `The lead is too large: its event could have ${figure(bytes)} bytes, but the limit is ${figure(bytes - 1)}. Send fewer or shorter values.`,
        ],
      })
      expect(limited.committed).toEqual([])
      const { accountId } = other
      await limited.leads.createLeads({ leads: [newItem(accountId)] })
      const numbers = await limited.db.query({ text: 'SELECT number FROM leads' })
      expect(numbers).toEqual([{ number: 1 }])
    }
    await limited.stop()
  }
})
