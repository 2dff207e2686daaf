import type { CreateLead, Event, ImportRow, NewLead } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { catchUp } from '../../jobs/search/index-leads'
import {
  buildQuote,
  itemWith,
  lockWaiters,
  newAccount,
  newImage,
  newLead,
  type RunningLeadsService,
  readOutbox,
  startLeadsService,
  WINDOW_MS,
} from '../../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const GIVEN = [
  'name',
  'first_name',
  'last_name',
  'email',
  'phone',
  'postcode',
  'referrer',
  'status',
  'external_id',
]

const buildUpsert = (externalId: string, over: Partial<NewLead> = {}, given = GIVEN): NewLead =>
  newLead({ externalId, upsert: { given, ifMatch: undefined }, ...over })

const upsert = async (accountId: number, lead: NewLead, copy = service.leads) => {
  const response = await copy.upsertLead({ accountId, lead, idempotency: undefined, traceparent: '' })
  const { body, created, etag } = response
  return { ...JSON.parse(body.toString()).data, created, etag }
}

/** Upserts a lead with a request that gives only the fields in `given`. */
const change = (accountId: number, externalId: string, over: Partial<NewLead>, given: string[]) =>
  upsert(accountId, buildUpsert(externalId, over, given))

const managed = async (accountId: number, reference: string) => {
  const { body } = await service.leads.retrieveManagedLead({ accountId, reference })
  return JSON.parse(body.toString()).data
}

const readEvents = async (accountId: number) =>
  (await readOutbox(service)).filter((event) => event.accountId === accountId)

const readHistory = async (accountId: number, reference: string) => {
  const { items } = await service.leads.listLeadHistory({ accountId, reference })
  return JSON.parse(items.toString()) as { version: number; action: string; changes: object[] }[]
}

test('24 upserts of 6 ids at once, over two copies, make 6 leads with dense versions', async () => {
  const { accountId } = await newAccount(service)
  const answers = await Promise.all(
    Array.from({ length: 24 }, (_, index) => {
      const lead = buildUpsert(`crm-${index % 6}`, { name: `Lead ${index}` })
      return upsert(accountId, lead, index % 3 === 0 ? service.otherLeads : service.leads)
    }),
  )
  expect(new Set(answers.map(({ reference }) => reference)).size).toBe(6)
  expect(answers.filter(({ created }) => created)).toHaveLength(6)
  const [counted] = await service.db.query<{ count: number }>({
    text: 'SELECT count(*)::int FROM leads WHERE account_id = $1',
    values: [accountId],
  })
  expect(counted!.count).toBe(6)
  for (const reference of new Set<string>(answers.map((answer) => answer.reference))) {
    const history = await readHistory(accountId, reference)
    expect(history.map(({ version }) => version)).toEqual(history.map((_, index) => history.length - index))
    const versions = (await readEvents(accountId))
      .filter(({ leadReference }) => leadReference === reference)
      .map(({ leadVersion }) => leadVersion)
    expect(versions.toSorted((a, b) => a - b)).toEqual(history.map((_, index) => index + 1))
  }
})

test('what is absent stays, what is given changes, and history and event name it without what it was', async () => {
  const { accountId } = await newAccount(service)
  const made = await upsert(
    accountId,
    buildUpsert('a', { value: 10, description: 'Call', mobile: '07700 900123' }),
  )
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
    id: made.customer.id,
    email: 'new@example.test',
    phone_link: 'tel:+442079460001',
    mobile: '07700 900123',
    first_name: 'Ada',
    created_at: made.created_at,
  })
  expect(changed.updated_at > made.updated_at).toBe(true)
  const changes = [
    { field: 'value', from: 10, to: 20 },
    { field: 'referrer', from: 'Website', to: 'Phone' },
    { field: 'email', from: null, to: null },
    { field: 'phone', from: null, to: null },
  ]
  const [entry] = await readHistory(accountId, made.reference)
  expect(entry).toMatchObject({ version: 2, action: 'updated', changes })
  const event = (await readEvents(accountId)).at(-1)!
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
  await upsert(accountId, buildUpsert('a', { ...over, attributes: '{"a":1}' }, [...GIVEN, ...given]))
  const cleared = await change(accountId, 'a', {}, given)
  expect(cleared).toMatchObject({ description: null, referrer_url: null })
  expect(cleared.customer).toMatchObject({ mobile: null, mobile_link: null, company_name: null })
  expect(await managed(accountId, cleared.reference)).toMatchObject({ external_id: 'a', attributes: {} })
  const [entry] = await readHistory(accountId, cleared.reference)
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
  const quotes = [buildQuote(itemWith(image, { options, cost: 5 }), itemWith(image)), buildQuote()]
  const made = await upsert(accountId, buildUpsert('a', { quotes }, [...GIVEN, 'quotes']))
  const same = await change(accountId, 'a', { quotes }, ['quotes'])
  expect(same.quotes).toEqual(made.quotes)
  expect(await readEvents(accountId)).toHaveLength(1)
  const replaced = await change(accountId, 'a', { quotes: [buildQuote(itemWith(image, { name: 'Bay' }))] }, [
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
  await expect(
    change(accountId, 'a', { quotes: [buildQuote(itemWith(unknown))] }, ['quotes']),
  ).rejects.toMatchObject({ fieldErrors: { 'quotes.0.items.0.image_id': expect.anything() } })
})

test('what changes nothing writes nothing', async () => {
  const { accountId } = await newAccount(service)
  const lead = buildUpsert('a', { attributes: '{"utm_source":"x","n":1.5}' }, [...GIVEN, 'attributes'])
  const first = await upsert(accountId, lead)
  expect(await upsert(accountId, lead)).toEqual({ ...first, created: false })
  expect(await readEvents(accountId)).toHaveLength(1)
  expect(await readHistory(accountId, first.reference)).toHaveLength(1)
})

test('attributes are merged, and events have a second body with them', async () => {
  const { accountId } = await newAccount(service)
  const attributes = '{"utm_source":"x","returning":true,"gone":1}'
  const made = await upsert(accountId, buildUpsert('a', { attributes }, [...GIVEN, 'attributes']))
  expect(made).not.toHaveProperty('attributes')
  await change(accountId, 'a', { attributes: '{"utm_source":"y","gone":null,"n":0.5}' }, ['attributes'])
  const merged = { utm_source: 'y', returning: true, n: 0.5 }
  expect((await managed(accountId, made.reference)).attributes).toEqual(merged)
  const [created, updated] = await readEvents(accountId)
  const parseBodies = ({ body, bodyWithAttributes }: Event) =>
    [body, bodyWithAttributes!].map((bytes) => JSON.parse(Buffer.from(bytes).toString()).data)
  const [plain, full] = parseBodies(created!)
  expect(full).toEqual({ ...plain, attributes: JSON.parse(attributes) })
  expect(plain).not.toHaveProperty('attributes')
  expect(parseBodies(updated!)[1]).toMatchObject({
    attributes: merged,
    changes: [{ field: 'attributes', from: null, to: null }],
  })
  await service.leads.updateLead({
    accountId,
    reference: made.reference,
    value: 3,
    status: undefined,
    userEmail: undefined,
    notify: false,
    ifMatch: undefined,
  })
  expect(parseBodies((await readEvents(accountId)).at(-1)!)[1]).toMatchObject({
    value: 3,
    attributes: merged,
  })
  const many = Object.fromEntries(Array.from({ length: 28 }, (_, index) => [`k${index}`, index]))
  await expect(
    change(accountId, 'a', { attributes: JSON.stringify(many) }, ['attributes']),
  ).rejects.toMatchObject({ fieldErrors: { attributes: [expect.stringContaining('30')] } })
})

test('a new lead needs what any has, and an id that is taken is no new one’s', async () => {
  const { accountId } = await newAccount(service)
  const other = (await newAccount(service)).accountId
  const tooLittle = await change(accountId, 'a', { status: 'sold', name: '' }, ['status']).catch(
    (error) => error,
  )
  expect(Object.keys(tooLittle.fieldErrors)).toContain('name')
  expect(tooLittle.fieldErrors).not.toHaveProperty('status')
  await upsert(accountId, buildUpsert('a'))
  await upsert(other, buildUpsert('a'))
  await expect(upsert(accountId, newLead({ externalId: 'a' }))).rejects.toMatchObject({
    fieldErrors: { external_id: ['The external id has already been taken.'] },
  })
})

test('a repeated request under a key is answered with the saved lead', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const idempotency = buildKey(tokenId, 'external')
  const request = { accountId, lead: newLead({ externalId: 'a' }), idempotency, traceparent: '' }
  const first = await service.leads.upsertLead(request)
  expect(await service.leads.upsertLead(request)).toEqual({ ...first, replayed: true })
  await service.leads.eraseLead({ accountId, reference: JSON.parse(first.body.toString()).data.reference })
  expect((await service.leads.upsertLead(request)).replayed).toBe(false)
})

test('rows lock search progress before the account, also behind a row that makes a lead', async () => {
  const { accountId } = await newAccount(service)
  await upsert(accountId, buildUpsert('a'))
  await catchUp(
    { database: service.db, onCommitted: () => undefined, duplicateWindowMs: WINDOW_MS },
    accountId,
  )
  const rows = [newLead(), buildUpsert('a', { email: 'b@example.test' }, ['email'])].map(buildRow)
  const { written } = await service.db.transaction(async (tx) => {
    const lock = (table: string, mode: string) =>
      tx.query({ text: `SELECT FROM ${table} = $1 FOR NO KEY UPDATE ${mode}`, values: [accountId] })
    await lock('lead_search_progress WHERE account_id', '')
    const written = service.imports.writeLeadBatch({
      accountId,
      rows,
      idempotency: undefined,
      traceparent: '',
    })
    await eventually(async () => expect(await lockWaiters(service)).toBe(1))
    await lock('accounts WHERE id', 'NOWAIT')
    return { written }
  })
  expect(JSON.parse((await written).body.toString()).data).toMatchObject([{ data: {} }, { data: {} }])
})

test('a changed lead is found by its new words alone', async () => {
  const { accountId } = await newAccount(service)
  await upsert(accountId, buildUpsert('a', { firstName: 'Grace' }))
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
  const lead = buildUpsert('a', { attributes: '{"utm_source":"x"}' }, [...GIVEN, 'attributes'])
  const made = await upsert(accountId, lead)
  await service.leads.eraseLead({ accountId, reference: made.reference })
  expect(await managed(accountId, made.reference)).toMatchObject({ external_id: null, attributes: {} })
  const terms = await service.db.query({
    text: 'SELECT term FROM lead_attributes WHERE account_id = $1',
    values: [accountId],
  })
  expect(terms).toEqual([])
  const again = await upsert(accountId, lead)
  expect(again.reference).not.toBe(made.reference)
})

test('an upsert that waits for the erasure of its lead makes a new one', async () => {
  const { accountId } = await newAccount(service)
  const made = await upsert(accountId, buildUpsert('a'))
  const [again] = await Promise.all([
    upsert(accountId, buildUpsert('a', { name: 'Later' })),
    service.leads.eraseLead({ accountId, reference: made.reference }),
  ])
  const { reference } = again
  const [counted] = await service.db.query<{ count: number }>({
    text: `SELECT count(*)::int FROM leads WHERE account_id = $1 AND external_id = 'a'`,
    values: [accountId],
  })
  expect(counted!.count).toBe(reference === made.reference ? 0 : 1)
})

const buildRow = (lead: NewLead | string): ImportRow => ({
  row: typeof lead === 'string' ? { $case: 'errors', value: lead } : { $case: 'lead', value: lead },
})

const buildKey = (tokenId: number, key: string): CreateLead['idempotency'] => ({
  tokenId,
  key,
  fingerprint: Buffer.from(key),
})

test('of a batch each lead has its own result, in order; two of one id are one lead', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const request = {
    accountId,
    rows: [
      newLead({ name: 'One' }),
      '{"email":["no"]}',
      buildUpsert('a', { name: 'Two' }),
      newLead({ userId: 999_999 }),
      buildUpsert('a', { name: 'Three' }),
      buildUpsert('b', {}, ['status']),
    ].map(buildRow),
    idempotency: buildKey(tokenId, 'batch'),
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
    { errors: { name: ['The name field is required.'] } },
  ])
  expect(data[4].data.reference).toBe(data[2].data.reference)
  const replayed = await service.imports.writeLeadBatch(request)
  expect(replayed).toEqual({ body: answer.body, replayed: true })
  expect(await readEvents(accountId)).toHaveLength(3)
  await service.leads.eraseLead({ accountId, reference: data[0].data.reference })
  const saved = await service.db.query({
    text: 'SELECT key FROM idempotency_keys WHERE token_id = $1',
    values: [tokenId],
  })
  expect(saved).toEqual([])
})

test('batches of overlapping ids in any order never wait in a circle', async () => {
  const { accountId } = await newAccount(service)
  const ids = Array.from({ length: 10 }, (_, index) => `id-${index}`)
  const batch = (order: string[], name: string) =>
    service.imports.writeLeadBatch({
      accountId,
      idempotency: undefined,
      traceparent: '',
      rows: [...order, ...order].map((id, index) => buildRow(buildUpsert(id, { name: `${name} ${index}` }))),
    })
  await Promise.all(
    Array.from({ length: 4 }, (_, index) => batch(index % 2 ? ids : ids.toReversed(), `Round ${index}`)),
  )
  await eventually(async () => expect((await readEvents(accountId)).length).toBe(4 * 20))
})
