import type { CreateLead, Event, ImportRow, NewLead } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { catchUp } from '../../jobs/search/index-leads'
import {
  itemWith,
  lockWaiters,
  newAccount,
  newImage,
  newItem,
  newLead,
  outboxOf,
  outcomesOf,
  quoteOf,
  type RunningLeadsService,
  startLeadsService,
  WINDOW_MS,
} from '../../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const GIVEN = [
  ...['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status', 'external_id'],
]

const upsertOf = (externalId: string, over: Partial<NewLead> = {}, given = GIVEN): NewLead =>
  newLead({ externalId, upsert: { given, ifMatch: undefined }, ...over })

const upsert = async (accountId: number, ...leads: NewLead[]) => {
  const response = await service.leads.createLeads({
    leads: leads.map((lead) => newItem(accountId, { lead })),
  })
  return { outcomes: outcomesOf(response), results: response.results }
}

/** Changes these fields alone. */
const change = async (accountId: number, externalId: string, over: Partial<NewLead>, given: string[]) => {
  const { outcomes, results } = await upsert(accountId, upsertOf(externalId, over, given))
  return { ...outcomes[0], created: results[0]!.created, etag: results[0]!.etag }
}

const managed = async (accountId: number, reference: string) => {
  const { body } = await service.leads.retrieveManagedLead({ accountId, reference })
  return JSON.parse(body.toString()).data
}

const eventsOf = async (accountId: number) =>
  (await outboxOf(service)).filter((event) => event.accountId === accountId)

const historyOf = async (accountId: number, reference: string) => {
  const { items } = await service.leads.listLeadHistory({ accountId, reference })
  return JSON.parse(items.toString()) as { version: number; action: string; changes: object[] }[]
}

test('64 upserts of 8 ids at once, over two copies, make 8 leads with dense versions', async () => {
  const { accountId } = await newAccount(service)
  const answers = await Promise.all(
    Array.from({ length: 64 }, async (_, index) => {
      const lead = upsertOf(`crm-${index % 8}`, { name: `Lead ${index}` })
      const copy = index % 3 === 0 ? service.otherLeads : service.leads
      const { results } = await copy.createLeads({ leads: [newItem(accountId, { lead })] })
      return {
        ...JSON.parse((results[0]!.result!.value as Buffer).toString()).data,
        created: results[0]!.created,
      }
    }),
  )
  expect(new Set(answers.map(({ reference }) => reference)).size).toBe(8)
  expect(answers.filter(({ created }) => created)).toHaveLength(8)
  const [counted] = await service.db.query<{ count: number }>({
    text: 'SELECT count(*)::int FROM leads WHERE account_id = $1',
    values: [accountId],
  })
  expect(counted!.count).toBe(8)
  for (const reference of new Set<string>(answers.map((answer) => answer.reference))) {
    const history = await historyOf(accountId, reference)
    expect(history.map(({ version }) => version)).toEqual(history.map((_, index) => history.length - index))
    const versions = (await eventsOf(accountId))
      .filter(({ leadReference }) => leadReference === reference)
      .map(({ leadVersion }) => leadVersion)
    expect(versions.toSorted((a, b) => a - b)).toEqual(history.map((_, index) => index + 1))
  }
})

test('what is absent stays, what is given changes, and history and event name it without what it was', async () => {
  const { accountId } = await newAccount(service)
  const [made] = (
    await upsert(accountId, upsertOf('a', { value: 10, description: 'Call', mobile: '07700 900123' }))
  ).outcomes
  const changed = await change(
    accountId,
    'a',
    { email: 'new@example.test', phone: '020 7946 0001', value: 20, referrer: 'Phone' },
    ['email', 'phone', 'value', 'referrer'],
  )
  expect(changed).toMatchObject({
    created: false,
    id: made.id,
    value: 20,
    description: 'Call',
    referrer: 'Phone',
  })
  expect(changed.customer).toMatchObject({
    ...{ id: made.customer.id, email: 'new@example.test', phone_link: 'tel:+442079460001' },
    ...{ mobile: '07700 900123', first_name: 'Ada', created_at: made.created_at },
  })
  expect(changed.updated_at > made.updated_at).toBe(true)
  const changes = [
    { field: 'value', from: 10, to: 20 },
    { field: 'referrer', from: 'Website', to: 'Phone' },
    { field: 'email', from: null, to: null },
    { field: 'phone', from: null, to: null },
  ]
  const [entry] = await historyOf(accountId, made.reference)
  expect(entry).toMatchObject({ version: 2, action: 'updated', changes })
  const event = (await eventsOf(accountId)).at(-1)!
  expect(event).toMatchObject({ type: 'lead.updated', leadVersion: 2, bodyWithAttributes: undefined })
  expect(JSON.parse(Buffer.from(event.body).toString()).data).toMatchObject({ value: 20, changes })
  const { results } = await service.leads.retrieveLeads({ leads: [{ accountId, reference: made.reference }] })
  expect(JSON.parse((results[0]!.result!.value as Buffer).toString()).data).toMatchObject({
    value: 20,
    customer: { email: 'new@example.test' },
  })
})

test('null clears what may have no value', async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const over = {
    description: 'd',
    mobile: '07700 900123',
    companyName: 'c',
    userId: user!.id,
    referrerUrl: 'r',
  }
  const given = ['description', 'mobile', 'company_name', 'user_id', 'referrer_url', 'attributes']
  await upsert(accountId, upsertOf('a', { ...over, attributes: '{"a":1}' }, [...GIVEN, ...given]))
  const cleared = await change(accountId, 'a', {}, given)
  expect(cleared).toMatchObject({ description: null, referrer_url: null })
  expect(cleared.customer).toMatchObject({ mobile: null, mobile_link: null, company_name: null })
  expect(await managed(accountId, cleared.reference)).toMatchObject({ external_id: 'a', attributes: {} })
  const [entry] = await historyOf(accountId, cleared.reference)
  expect(entry!.changes).toContainEqual({
    field: 'user',
    from: { id: user!.id, email: 'sam@example.test' },
    to: null,
  })
})

test('quotes are replaced as a whole, and the same quotes are no change', async () => {
  const { accountId } = await newAccount(service)
  const image = await newImage(service, accountId)
  const options = '{"b":1.50,"10":"x"}'
  const quotes = [quoteOf(itemWith(image, { options, cost: 5 }), itemWith(image)), quoteOf()]
  const [made] = (await upsert(accountId, upsertOf('a', { quotes }, [...GIVEN, 'quotes']))).outcomes
  const same = await change(accountId, 'a', { quotes }, ['quotes'])
  expect(same.quotes).toEqual(made.quotes)
  expect(await eventsOf(accountId)).toHaveLength(1)
  const replaced = await change(accountId, 'a', { quotes: [quoteOf(itemWith(image, { name: 'Bay' }))] }, [
    'quotes',
  ])
  expect(replaced.quotes).toHaveLength(1)
  expect(replaced.quotes[0].items.map(({ name }: { name: string }) => name)).toEqual(['Bay'])
  expect(replaced.quotes[0].created_at > made.created_at).toBe(true)
  const kept = await change(accountId, 'a', { value: 7 }, ['value'])
  expect(kept.quotes).toEqual(replaced.quotes)
  const left = await service.db.query({
    text: 'SELECT id FROM quote_items WHERE account_id = $1',
    values: [accountId],
  })
  expect(left).toHaveLength(1)
  const unknown = { ...image, id: image.id + 1000 }
  const refused = await change(accountId, 'a', { quotes: [quoteOf(itemWith(unknown))] }, ['quotes'])
  expect(refused.failure).toMatchObject({ fieldErrors: { 'quotes.0.items.0.image_id': expect.anything() } })
})

test('what changes nothing writes nothing', async () => {
  const { accountId } = await newAccount(service)
  const lead = upsertOf('a', { attributes: '{"utm_source":"x","n":1.5}' }, [...GIVEN, 'attributes'])
  const first = await upsert(accountId, lead)
  const second = await upsert(accountId, lead)
  expect(second.outcomes).toEqual(first.outcomes)
  expect(second.results[0]).toMatchObject({ created: false, etag: first.results[0]!.etag })
  expect(await eventsOf(accountId)).toHaveLength(1)
  expect(await historyOf(accountId, first.outcomes[0].reference)).toHaveLength(1)
})

test('attributes are merged, and events have a second body with them', async () => {
  const { accountId } = await newAccount(service)
  const attributes = '{"utm_source":"x","returning":true,"gone":1}'
  const [made] = (await upsert(accountId, upsertOf('a', { attributes }, [...GIVEN, 'attributes']))).outcomes
  expect(made).not.toHaveProperty('attributes')
  await change(accountId, 'a', { attributes: '{"utm_source":"y","gone":null,"n":0.5}' }, ['attributes'])
  const merged = { utm_source: 'y', returning: true, n: 0.5 }
  expect((await managed(accountId, made.reference)).attributes).toEqual(merged)
  const [created, updated] = await eventsOf(accountId)
  const bodiesOf = ({ body, bodyWithAttributes }: Event) =>
    [body, bodyWithAttributes!].map((bytes) => JSON.parse(Buffer.from(bytes).toString()).data)
  const [plain, full] = bodiesOf(created!)
  expect(full).toEqual({ ...plain, attributes: JSON.parse(attributes) })
  expect(plain).not.toHaveProperty('attributes')
  expect(bodiesOf(updated!)[1]).toMatchObject({
    attributes: merged,
    changes: [{ field: 'attributes', from: null, to: null }],
  })
  await service.leads.updateLead({
    ...{ accountId, reference: made.reference, value: 3, status: undefined },
    ...{ userEmail: undefined, notify: false, ifMatch: undefined },
  })
  expect(bodiesOf((await eventsOf(accountId)).at(-1)!)[1]).toMatchObject({ value: 3, attributes: merged })
  const many = Object.fromEntries(Array.from({ length: 28 }, (_, index) => [`k${index}`, index]))
  const refused = await change(accountId, 'a', { attributes: JSON.stringify(many) }, ['attributes'])
  expect(refused.failure).toMatchObject({ fieldErrors: { attributes: [expect.stringContaining('30')] } })
})

test.each([
  ['a key', { Utm: 1 }],
  ['a list', { a: [1] }],
  ['a long text', { a: 'é'.repeat(513) }],
  ['a NUL', { a: '\0' }],
])('%s that may not be is refused', async (_what, attributes) => {
  const { accountId } = await newAccount(service)
  const lead = newLead({ attributes: JSON.stringify(attributes) })
  const [refused] = (await upsert(accountId, lead)).outcomes
  expect(refused.failure).toMatchObject({ fieldErrors: { attributes: expect.anything() } })
})

test('a new lead needs what any has, and an id that is taken is no new one’s', async () => {
  const { accountId } = await newAccount(service)
  const other = (await newAccount(service)).accountId
  const { failure } = await change(accountId, 'a', { status: 'sold', name: '' }, ['status'])
  expect(Object.keys(failure.fieldErrors)).toContain('name')
  expect(failure.fieldErrors).not.toHaveProperty('status')
  await upsert(accountId, upsertOf('a'))
  await upsert(other, upsertOf('a'))
  const [taken] = (await upsert(accountId, newLead({ externalId: 'a' }))).outcomes
  expect(taken.failure).toMatchObject({
    fieldErrors: { external_id: ['The external id has already been taken.'] },
  })
})

test.each<[rows: string, over: [account: 'low' | 'high', lead: NewLead][]]>([
  [
    'lead_search_progress WHERE account_id',
    [
      ['low', upsertOf('a', { email: 'b@example.test' }, ['email'])],
      ['high', upsertOf('a', { email: 'b@example.test' }, ['email'])],
      ['high', upsertOf('a', { email: 'c@example.test' }, ['email'])],
    ],
  ],
  [
    'accounts WHERE id',
    [
      ['high', upsertOf('b')],
      ['low', newLead({ externalId: 'b', upsert: { given: GIVEN, ifMatch: { etags: ['*'] } } })],
      ['low', upsertOf('b')],
    ],
  ],
])('rows are locked in the order of accounts where one has an id twice: %s', async (rows, asked) => {
  const [{ accountId: low }, { accountId: high }] = [await newAccount(service), await newAccount(service)]
  for (const accountId of [low, high]) {
    await upsert(accountId, upsertOf('a'))
    await catchUp(
      { database: service.db, onCommitted: () => undefined, duplicateWindowMs: WINDOW_MS },
      accountId,
    )
  }
  const { written } = await service.db.transaction(async (tx) => {
    const lock = (accountId: number, mode: string) =>
      tx.query({ text: `SELECT FROM ${rows} = $1 FOR NO KEY UPDATE ${mode}`, values: [accountId] })
    await lock(low, '')
    const leads = asked.map(([account, lead]) => newItem(account === 'low' ? low : high, { lead }))
    const written = service.leads.createLeads({ leads })
    await eventually(async () => expect(await lockWaiters(service)).toBe(1))
    await lock(high, 'NOWAIT')
    return { written }
  })
  expect(outcomesOf(await written).at(-1)).not.toHaveProperty('failure')
})

test('a changed lead is found by its new words alone', async () => {
  const { accountId } = await newAccount(service)
  await upsert(accountId, upsertOf('a', { firstName: 'Grace' }))
  await catchUp(
    { database: service.db, onCommitted: () => undefined, duplicateWindowMs: WINDOW_MS },
    accountId,
  )
  await change(accountId, 'a', { firstName: 'Zelda' }, ['first_name'])
  const place = { $case: 'page', value: 1 } as const
  const find = async (filters: object) =>
    (
      await service.leads.findLeads({
        accountId,
        filters: filters as never,
        sort: '-created_at',
        perPage: 20,
        place,
      })
    ).count
  expect([await find({ q: 'zelda' }), await find({ q: 'grace' })]).toEqual([1, 0])
})

test('an erasure empties attributes and external id, and frees the id', async () => {
  const { accountId } = await newAccount(service)
  const lead = upsertOf('a', { attributes: '{"utm_source":"x"}' }, [...GIVEN, 'attributes'])
  const [made] = (await upsert(accountId, lead)).outcomes
  await service.leads.eraseLead({ accountId, reference: made.reference })
  expect(await managed(accountId, made.reference)).toMatchObject({ external_id: null, attributes: {} })
  const terms = await service.db.query({
    text: 'SELECT term FROM lead_attributes WHERE account_id = $1',
    values: [accountId],
  })
  expect(terms).toEqual([])
  const [again] = (await upsert(accountId, lead)).outcomes
  expect(again.reference).not.toBe(made.reference)
})

test('an upsert that waits for the erasure of its lead makes a new one', async () => {
  const { accountId } = await newAccount(service)
  const [made] = (await upsert(accountId, upsertOf('a'))).outcomes
  const [again] = await Promise.all([
    upsert(accountId, upsertOf('a', { name: 'Later' })),
    service.leads.eraseLead({ accountId, reference: made.reference }),
  ])
  const { reference } = again.outcomes[0]
  const [counted] = await service.db.query<{ count: number }>({
    text: `SELECT count(*)::int FROM leads WHERE account_id = $1 AND external_id = 'a'`,
    values: [accountId],
  })
  expect(counted!.count).toBe(reference === made.reference ? 0 : 1)
})

const rowOf = (lead: NewLead | string): ImportRow => ({
  row: typeof lead === 'string' ? { $case: 'faults', value: lead } : { $case: 'lead', value: lead },
})

const keyOf = (tokenId: number, key: string): CreateLead['idempotency'] => ({
  ...{ tokenId, key, fingerprint: Buffer.from(key) },
})

test('of a batch each lead has its own result, in order; two of one id are one lead', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const request = {
    accountId,
    rows: [
      newLead({ name: 'One' }),
      '{"email":["no"]}',
      upsertOf('a', { name: 'Two' }),
      newLead({ userId: 999_999 }),
      upsertOf('a', { name: 'Three' }),
      upsertOf('b', {}, ['status']),
    ].map(rowOf),
    idempotency: keyOf(tokenId, 'batch'),
    traceparent: '',
  }
  const answer = await service.imports.writeLeadBatch(request)
  const { data } = JSON.parse(answer.body.toString())
  expect(data).toMatchObject([
    { data: { name: 'One' } },
    { errors: { email: ['no'] } },
    { data: { name: 'Two' } },
    { errors: { user_id: expect.anything() } },
    { data: { name: 'Three' } },
    { data: { status: 'open' } },
  ])
  expect(data[4].data.reference).toBe(data[2].data.reference)
  const replayed = await service.imports.writeLeadBatch(request)
  expect(replayed).toEqual({ body: answer.body, replayed: true })
  expect(await eventsOf(accountId)).toHaveLength(4)
  await service.leads.eraseLead({ accountId, reference: data[0].data.reference })
  const saved = await service.db.query({
    text: 'SELECT key FROM idempotency_keys WHERE token_id = $1',
    values: [tokenId],
  })
  expect(saved).toEqual([])
})

test('batches of overlapping ids in any order never wait in a circle', async () => {
  const { accountId } = await newAccount(service)
  const ids = Array.from({ length: 20 }, (_, index) => `id-${index}`)
  const batch = (order: string[], name: string) =>
    service.imports.writeLeadBatch({
      ...{ accountId, idempotency: undefined, traceparent: '' },
      rows: [...order, ...order].map((id, index) => rowOf(upsertOf(id, { name: `${name} ${index}` }))),
    })
  await Promise.all(
    Array.from({ length: 6 }, (_, index) => batch(index % 2 ? ids : ids.toReversed(), `Round ${index}`)),
  )
  await eventually(async () => expect((await eventsOf(accountId)).length).toBe(6 * 40))
})
