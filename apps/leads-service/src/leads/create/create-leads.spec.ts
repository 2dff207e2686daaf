import type { NewQuoteItem } from '@leadwire/contracts'
import { oldKeys } from '@leadwire/service-kit'
import { eventually } from '@leadwire/test-kit'
import {
  buildQuote,
  holdAccount,
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  type RunningLeadsService,
  readLeadPage,
  readOutbox,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

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
  const { total, items } = readLeadPage(results[0]!)
  return { total, items: JSON.parse(items.toString()) }
}

test('a batch creates each lead for its own account, and a bad item fails alone', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const outcomes = readOutcomes(
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
  expect(outcomes[1].failure).toMatchObject({
    code: 'invalid',
    fieldErrors: { user_id: [expect.any(String)] },
  })
  expect(outcomes[2].name).toBe('second')
  expect((await listed(mine.accountId)).total).toBe(1)
  expect((await listed(other.accountId)).total).toBe(1)
})

test('the event carries the lead as the response shows it, in the same bytes', async () => {
  const { accountId, apiKey } = await newAccount(service)
  const items = [newItem(accountId), newItem(accountId, { lead: newLead({ status: 'test' }) })]
  const { results } = await service.leads.createLeads({ leads: items })
  const leads = readOutcomes({ results })
  const events = (await readOutbox(service)).filter((event) => event.accountId === accountId)
  expect(events).toEqual(
    leads.map((lead, index) => ({
      eventId: expect.any(String),
      accountId,
      accountKey: apiKey,
      type: 'lead.created',
      leadReference: lead.reference,
      leadVersion: 1,
      test: index === 1,
      traceparent: '',
      createdAt: lead.created_at,
      body: results[index]!.result!.value,
      match: { status: ['open', 'test'][index], referrer: 'Website', postcode: 'SW1A 1AA' },
    })),
  )
  expect(events[0]!.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
})

test('number, id and time agree for concurrent creates through two copies, over many accounts', async () => {
  const accounts = await Promise.all(Array.from({ length: 5 }, () => newAccount(service)))
  const calls = Array.from({ length: 60 }, (_, index) => {
    const copy = index % 2 ? service.leads : service.otherLeads
    // Calls name the accounts in different orders. If the service took locks in the order of the call, calls
    // would deadlock.
    const order = [...accounts.slice(index % 5), ...accounts.slice(0, index % 5)]
    return copy.createLeads({ leads: order.map(({ accountId }) => newItem(accountId)) })
  })
  const outcomes = (await Promise.all(calls)).flatMap(readOutcomes)
  expect(outcomes.filter((outcome) => outcome.failure)).toEqual([])
  for (const { accountId } of accounts) {
    const rows = await service.db.query<{ id: number; number: number; created_at: string }>({
      text: 'SELECT id, number, created_at FROM leads WHERE account_id = $1 ORDER BY number',
      values: [accountId],
    })
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 60 }, (_, index) => index + 1))
    expect(rows.map(({ id }) => id)).toEqual(rows.map(({ id }) => id).sort((a, b) => a - b))
    expect(rows.map(({ created_at }) => created_at)).toEqual(rows.map(({ created_at }) => created_at).sort())
  }
})

test('leads of one account in one batch have times of their own, in the order given', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const owners = [mine, other, mine, mine]
  const leads = readOutcomes(
    await service.leads.createLeads({ leads: owners.map(({ accountId }) => newItem(accountId)) }),
  )
  const own = leads.filter((_, index) => owners[index] === mine)
  const times = own.map(({ created_at }) => created_at)
  expect(times).toEqual([...new Set(times)].toSorted())
  expect(own.map(({ id }) => id)).toEqual(own.map(({ id }) => id).toSorted((a, b) => a - b))
  expect(own.map(({ updated_at, customer }) => [updated_at, customer.created_at])).toEqual(
    times.map((time) => [time, time]),
  )
})

test('created_at never runs back behind the account’s last lead', async () => {
  const { accountId } = await newAccount(service)
  const ahead = '2999-01-01T00:00:00.000001Z'
  await service.db.query({
    text: 'UPDATE accounts SET last_lead_at = $2 WHERE id = $1',
    values: [accountId, ahead],
  })
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  expect(lead.created_at).toBe(ahead)
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
  const outcomes = responses.flatMap(readOutcomes)
  const answered = outcomes.filter((outcome) => !outcome.failure)
  expect(answered.length).toBeGreaterThan(0)
  expect(new Set(answered.map(({ reference }) => reference)).size).toBe(1)
  const codes = new Set(outcomes.flatMap((outcome) => outcome.failure?.code ?? []))
  // A busy machine may refuse some of the creates.
  codes.delete('unavailable')
  expect(codes).toEqual(new Set(['conflict']))
  expect((await listed(accountId)).total).toBe(1)
  expect((await readOutbox(service)).filter((event) => event.accountId === accountId)).toHaveLength(1)
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
    (await service.leads.createLeads({ leads: [newItem(accountId, { idempotency })] })).results[0]!
  const first = await create(keyFor(tokenId, 'k'))
  expect(await create(keyFor(tokenId, 'k'))).toEqual({ ...first, replayed: true })
  const refused = await create(keyFor(tokenId, 'k', 'b'))
  expect(readOutcomes({ results: [refused] })[0].failure).toMatchObject({ code: 'invalid' })
  expect(await create(keyFor(token!.id, 'k'))).not.toEqual(first)
  await service.db.query({
    text: `UPDATE idempotency_keys SET created_at = created_at - interval '24 hours'`,
  })
  expect(await oldKeys(service.db, 24 * 3_600_000).batch()).toMatchObject({ more: false })
  expect(await create(keyFor(tokenId, 'k', 'b'))).toMatchObject({ result: { $case: 'body' } })
})

test('a saved answer is replayed to any number at once, in one batch and through both copies', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const item = () => newItem(accountId, { idempotency: keyFor(tokenId, 'saved') })
  const [first] = readOutcomes(await service.leads.createLeads({ leads: [item()] }))
  const responses = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      (index % 2 ? service.leads : service.otherLeads).createLeads({ leads: [item(), item()] }),
    ),
  )
  const outcomes = responses.flatMap(readOutcomes)
  expect(outcomes).toHaveLength(120)
  for (const outcome of outcomes) expect(outcome).toEqual(first)
})

test('a key is in conflict while its first request is in flight, and no longer', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const create = async (copy: typeof service.leads) => {
    const leads = [newItem(accountId, { idempotency: keyFor(tokenId, 'slow') })]
    return readOutcomes(await copy.createLeads({ leads }))[0]
  }
  const { release, waiters } = await holdAccount(service, accountId)
  // This create locks its idempotency key, and then waits for the account.
  const first = create(service.leads)
  await eventually(async () => expect(await waiters()).toBe(1))
  expect((await create(service.otherLeads)).failure).toMatchObject({ code: 'conflict' })
  await release()
  const created = await first
  expect(await create(service.otherLeads)).toEqual(created)
})

test('maximal leads of one account hold up another one’s for the time of a batch', async () => {
  const [heavy, bystander] = [await newAccount(service), await newAccount(service)]
  const image = await newImage(service, heavy.accountId)
  const maximal = () => {
    const items = new Array<NewQuoteItem>(25).fill(itemWith(image, { options: '{"width":1200}' }))
    const quotes = Array.from({ length: 10 }, () => buildQuote(...items))
    return newItem(heavy.accountId, { lead: newLead({ quotes }) })
  }
  let waiting = 24
  const flood = Array.from({ length: waiting }, async () => {
    const outcomes = readOutcomes(await service.leads.createLeads({ leads: [maximal()] }))
    waiting -= 1
    return outcomes[0]
  })
  // The bystander creates one lead after the other while the flood waits. The first of these leads must
  // overtake more than half of the flood.
  const leftBehind: number[] = []
  while (waiting > 0) {
    const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(bystander.accountId)] }))
    expect(lead.failure).toBeUndefined()
    leftBehind.push(waiting)
  }
  expect(leftBehind[0]).toBeGreaterThan(12)
  const refused = (await Promise.all(flood)).flatMap(({ failure }) => failure?.code ?? [])
  // A busy machine may refuse some of the flood.
  expect(refused.length).toBeLessThan(flood.length)
  expect(refused.filter((code) => code !== 'unavailable')).toEqual([])
})

const largeQuotes = async (accountId: number) => {
  const image = await newImage(service, accountId)
  const options = JSON.stringify(Object.fromEntries([...'abcd'].map((key) => [key, 'x'.repeat(250)])))
  return [buildQuote(...new Array<NewQuoteItem>(250).fill(itemWith(image, { options })))]
}

test('large leads that wait hold up no small one', async () => {
  const [heavy, bystander] = [await newAccount(service), await newAccount(service)]
  const quotes = await largeQuotes(heavy.accountId)
  const { release, waiters } = await holdAccount(service, heavy.accountId)
  const large = [1, 2, 3].map(() =>
    service.leads.createLeads({ leads: [newItem(heavy.accountId, { lead: newLead({ quotes }) })] }),
  )
  await eventually(async () => expect(await waiters()).toBe(1))
  const [small] = readOutcomes(await service.leads.createLeads({ leads: [newItem(bystander.accountId)] }))
  expect(small.failure).toBeUndefined()
  await release()
  for (const response of await Promise.all(large)) expect(readOutcomes(response)[0].failure).toBeUndefined()
})

test('a value that only the database refuses fails its own lead, also one with a transaction to itself', async () => {
  const { accountId } = await newAccount(service)
  const { db } = service
  await db.query({ text: `ALTER TABLE leads ADD CONSTRAINT refused CHECK (name <> 'Refused') NOT VALID` })
  try {
    for (const quotes of [[], await largeQuotes(accountId)]) {
      const leads = [newItem(accountId, { lead: newLead({ name: 'Refused', quotes }) }), newItem(accountId)]
      const [refused, created] = readOutcomes(await service.leads.createLeads({ leads }))
      expect(refused.failure).toMatchObject({ code: 'bad_request' })
      expect(created).toMatchObject({ name: 'Bay window' })
    }
  } finally {
    await db.query({ text: 'ALTER TABLE leads DROP CONSTRAINT refused' })
  }
})
