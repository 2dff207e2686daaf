import { randomUUID } from 'node:crypto'
import { LeadCreated, MAX_EVENT_BYTES } from '@leadwire/contracts'
import {
  ASSETS_URL,
  newAccount,
  newItem,
  newLead,
  outboxOf,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const keyFor = (tokenId: number, key: string, what = 'a') => ({
  tokenId,
  key,
  fingerprint: Buffer.from(what.padEnd(32)),
})

const listed = async (accountId: number) => {
  const { results } = await service.leads.listLeads({ pages: [{ accountId, page: 1 }] })
  return { total: results[0]!.total, items: JSON.parse(results[0]!.items.toString()) }
}

// What JSON escapes, and what some escape and others do not.
const AWKWARD = '"é\\\b\f\n\r\t\u0001\u001f/<\u007f\u2028😀'

test('a batch creates each lead for its own account, and a bad item fails alone', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const outcomes = outcomesOf(
    await service.leads.createLeads({
      leads: [
        newItem(mine.accountId, { lead: newLead({ name: 'first' }) }),
        newItem(mine.accountId, { lead: newLead({ userId: 987_654 }) }),
        newItem(other.accountId, { lead: newLead({ name: 'second' }) }),
      ],
    }),
  )
  expect(outcomes[0]).toMatchObject({ name: 'first', value: 0, type: 'quote', test: 0, quotes: [] })
  expect(outcomes[0].customer).toMatchObject({
    name: 'Ada Byron',
    phone_link: 'tel:+441632960123',
    mobile_link: null,
  })
  expect(outcomes[1].failure).toMatchObject({ code: 'invalid', faults: [{ field: 'user_id' }] })
  expect(outcomes[2].name).toBe('second')
  expect((await listed(mine.accountId)).total).toBe(1)
  expect((await listed(other.accountId)).total).toBe(1)
})

test('an item that breaks a constraint nobody foresaw does not fail its neighbours', async () => {
  const { accountId } = await newAccount(service)
  const outcomes = outcomesOf(
    await service.leads.createLeads({
      leads: [
        newItem(accountId),
        newItem(accountId, { lead: newLead({ status: 'no such status' }) }),
        newItem(accountId),
      ],
    }),
  )
  expect(outcomes.map((outcome) => outcome.failure?.code)).toEqual([undefined, 'internal', undefined])
  expect((await listed(accountId)).total).toBe(2)
})

test('the event carries the lead as the response shows it', async () => {
  const { accountId, apiKey } = await newAccount(service)
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const event = (await outboxOf(service)).find((candidate) => candidate.accountId === accountId)!
  expect(event).toMatchObject({ accountKey: apiKey, lead: { id: lead.id, reference: lead.reference } })
  expect(event.lead!.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

test('number, id and time agree for concurrent creates through two copies, over many accounts', async () => {
  const accounts = await Promise.all(Array.from({ length: 5 }, () => newAccount(service)))
  const calls = Array.from({ length: 200 }, (_, index) => {
    const copy = index % 2 ? service.leads : service.otherLeads
    // Each call names the accounts in another order, which is how unordered locks would end in a deadlock.
    const order = [...accounts.slice(index % 5), ...accounts.slice(0, index % 5)]
    return copy.createLeads({ leads: order.map(({ accountId }) => newItem(accountId)) })
  })
  const outcomes = (await Promise.all(calls)).flatMap(outcomesOf)
  expect(outcomes.filter((outcome) => outcome.failure)).toEqual([])
  for (const { accountId } of accounts) {
    const rows = await service.db.query<{ id: number; number: number; created_at: string }>({
      text: 'SELECT id, number, created_at FROM leads WHERE account_id = $1 ORDER BY number',
      values: [accountId],
    })
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort((a, b) => a - b))
    expect(rows.map(({ created_at }) => created_at)).toEqual(rows.map(({ created_at }) => created_at).sort())
  }
})

test('created_at never runs back behind the account’s last lead', async () => {
  const { accountId } = await newAccount(service)
  const ahead = '2999-01-01T00:00:00.000001Z'
  await service.db.query({
    text: 'UPDATE accounts SET last_lead_at = $2 WHERE id = $1',
    values: [accountId, ahead],
  })
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  expect(lead.created_at).toBe(ahead)
})

test('quotes, items and images come back as they were given, options to the letter', async () => {
  const { accountId } = await newAccount(service)
  const image = JSON.parse(
    (
      await service.attachments.createImage({
        accountId,
        file: {
          key: `images/${randomUUID()}.png`,
          name: '',
          fileName: 'w.png',
          fileSize: 3,
          contentType: 'image/png',
        },
        alt: 'a window',
      })
    ).body.toString(),
  ).data
  const options = '{"width":1200.50,"10":"b","2":"a"}'
  const item = {
    productStyleId: 3,
    name: 'Casement',
    price: 129_900,
    cost: undefined,
    margin: 0.25,
    tax: undefined,
    minimum: undefined,
    maximum: undefined,
    format: 'range',
    hidden: false,
    status: 'active',
    productStyleSku: 'CAS-1',
    productStyleName: 'Casement',
    productName: 'Window',
    imageId: image.id,
    options,
  }
  const quotes = [
    { status: 'complete', items: [item, { ...item, name: 'Second', cost: 1, minimum: -0.5, maximum: 1e21 }] },
    { status: 'complete', items: [{ ...item, name: 'Third' }] },
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
  const { body } = await service.attachments.createImage({
    accountId: other.accountId,
    file: {
      key: `images/${randomUUID()}.png`,
      name: '',
      fileName: 'w.png',
      fileSize: 3,
      contentType: 'image/png',
    },
  })
  const imageId = JSON.parse(body.toString()).data.id
  const item = {
    productStyleId: 3,
    name: 'x',
    price: 1,
    format: 'range',
    hidden: false,
    status: 'active',
    imageId,
    productStyleSku: '',
    productStyleName: '',
    productName: '',
    options: '{}',
  }
  const lead = newLead({ quotes: [{ status: 'complete', items: [item] }] })
  const [outcome] = outcomesOf(
    await service.leads.createLeads({ leads: [newItem(mine.accountId, { lead })] }),
  )
  expect(outcome.failure.faults).toEqual([
    { field: 'quotes.0.items.0.image_id', messages: ['The selected image id is invalid.'] },
  ])
})

test('a lead too large to be told is refused, its neighbour is created, and the largest is an event that can be sent', async () => {
  const { accountId } = await newAccount(service)
  const long = '🪟'.repeat(255)
  const { body } = await service.attachments.createImage({
    accountId,
    file: {
      key: `images/${randomUUID()}.png`,
      ...{ name: long, fileName: long, fileSize: 3, contentType: 'image/png' },
    },
    alt: long,
  })
  const item = {
    ...{ productStyleId: 3, name: 'x', price: 1, format: 'range', hidden: false, status: 'active' },
    ...{ productStyleSku: '', productStyleName: '', productName: '', options: '{}' },
    imageId: JSON.parse(body.toString()).data.id,
  }
  const leadOf = (count: number) =>
    newItem(accountId, {
      lead: newLead({ quotes: [{ status: 'complete', items: new Array(count).fill(item) }] }),
    })
  const [tooLarge, largest, small] = outcomesOf(
    await service.leads.createLeads({ leads: [leadOf(3000), leadOf(1600), leadOf(1)] }),
  )
  expect(tooLarge.failure).toMatchObject({ code: 'invalid', faults: [{ field: 'quotes' }] })
  const events = await outboxOf(service)
  const eventOf = ({ id }: { id: number }) => events.find(({ lead }) => lead!.id === id)!
  expect(LeadCreated.encode(eventOf(largest)).finish().length).toBeGreaterThan(MAX_EVENT_BYTES / 2)
  expect(LeadCreated.encode(eventOf(largest)).finish().length).toBeLessThan(MAX_EVENT_BYTES)
  expect(eventOf(small).lead!.quotes).toHaveLength(1)
})

test('a thousand creates under one key make one lead and one event', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const item = () => newItem(accountId, { idempotency: keyFor(tokenId, 'once') })
  const responses = await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      (index % 2 ? service.leads : service.otherLeads).createLeads({
        leads: Array.from({ length: 10 }, item),
      }),
    ),
  )
  const outcomes = responses.flatMap(outcomesOf)
  const answered = outcomes.filter((outcome) => !outcome.failure)
  expect(answered.length).toBeGreaterThan(0)
  expect(new Set(answered.map(({ reference }) => reference)).size).toBe(1)
  expect(new Set(outcomes.flatMap((outcome) => outcome.failure?.code ?? []))).toEqual(new Set(['conflict']))
  expect((await listed(accountId)).total).toBe(1)
  expect((await outboxOf(service)).filter((event) => event.accountId === accountId)).toHaveLength(1)
})

test('a key replays its answer byte for byte, refuses another request, and is the token’s own', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const { token } = await service.accounts.createToken({
    accountId,
    name: 'second',
    scopes: ['leads'],
    test: false,
  })
  const create = async (idempotency: ReturnType<typeof keyFor>) =>
    (await service.leads.createLeads({ leads: [newItem(accountId, { idempotency })] })).results[0]!.result!
  const first = await create(keyFor(tokenId, 'k'))
  expect(await create(keyFor(tokenId, 'k'))).toEqual(first)
  expect(await create(keyFor(tokenId, 'k', 'b'))).toMatchObject({
    $case: 'failure',
    value: { code: 'invalid' },
  })
  expect(await create(keyFor(token!.id, 'k'))).not.toEqual(first)
  await service.db.query({
    text: `UPDATE idempotency_keys SET created_at = created_at - interval '24 hours'`,
  })
  expect(await create(keyFor(tokenId, 'k', 'b'))).toMatchObject({ $case: 'body' })
})
