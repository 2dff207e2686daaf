import { LeadCreated, MAX_EVENT_BYTES } from '@leadwire/contracts'
import {
  ASSETS_URL,
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  outboxOf,
  outcomesOf,
  quoteOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

// What JSON escapes, and what some escape and others do not.
const AWKWARD = '"é\\\b\f\n\r\t\u0001\u001f/<\u007f\u2028😀'

test('quotes, items and images come back as they were given, options to the letter', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId, { alt: 'a window' })
  const options = '{"width":1200.50,"10":"b","2":"a"}'
  const item = itemWith(image, { margin: 0.25, options })
  const quotes = [
    quoteOf(item, { ...item, name: 'Second', cost: 1, minimum: -0.5, maximum: 1e21 }),
    quoteOf({ ...item, name: 'Third' }),
  ]
  const response = await service.leads.createLeads({
    leads: [
      newItem(accountId, { lead: newLead({ quotes, name: AWKWARD, status: 'test', lastName: AWKWARD }) }),
    ],
  })
  const [lead] = outcomesOf(response)
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
  const retrieved = await service.leads.getLeads({
    leads: [{ accountId, reference: lead.reference.toUpperCase() }],
  })
  const created = response.results[0]!.result!
  expect(retrieved.results[0]!.result).toEqual(created)
  expect(String(created.value)).toContain(`"options":${options}`)
  const listed = await service.leads.listLeads({ pages: [{ accountId, page: 1 }] })
  const listItem = String(listed.results[0]!.items).slice('['.length, -'}]'.length)
  expect(String(created.value)).toContain(`{"data":${listItem},"customer":`)
})

test('an image of another account is a fault of the item that names it', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const quotes = [quoteOf(itemWith(await newImage(service, other.accountId)))]
  const [outcome] = outcomesOf(
    await service.leads.createLeads({ leads: [newItem(mine.accountId, { lead: newLead({ quotes }) })] }),
  )
  expect(outcome.failure.faults).toEqual([
    { field: 'quotes.0.items.0.image_id', messages: ['The selected image id is invalid.'] },
  ])
})

test('a lead too large to be told is refused, its neighbour is created, and the largest is an event that can be sent', async () => {
  const { accountId } = await newAccount(service)
  const long = '🪟'.repeat(255)
  const item = itemWith(await newImage(service, accountId, { name: long, alt: long }))
  const leadOf = (count: number) =>
    newItem(accountId, { lead: newLead({ quotes: [quoteOf(...new Array(count).fill(item))] }) })
  const [tooLarge, largest, small] = outcomesOf(
    await service.leads.createLeads({ leads: [leadOf(3000), leadOf(1600), leadOf(1)] }),
  )
  expect(tooLarge.failure).toMatchObject({ code: 'invalid', faults: [{ field: 'quotes' }] })
  const events = await outboxOf(service)
  const eventOf = ({ id }: { id: number }) => events.find(({ lead }) => lead!.id === id)!
  const { length } = LeadCreated.encode(eventOf(largest)).finish()
  expect(length).toBeGreaterThan(MAX_EVENT_BYTES / 2)
  expect(length).toBeLessThan(MAX_EVENT_BYTES)
  expect(eventOf(small).lead!.quotes).toHaveLength(1)
})
