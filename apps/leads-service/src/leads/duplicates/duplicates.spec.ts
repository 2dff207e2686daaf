import { randomUUID } from 'node:crypto'
import { Event } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { catchUp } from '../../jobs/search/index-leads'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
  WINDOW_MS,
} from '../../leads-service.fixture'
import type { OutboxEvent } from '../../outbox/record-events'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const PERSON = {
  firstName: 'Ann-Marie',
  lastName: 'O’Neil',
  email: 'ann@example.test',
  phone: '020 7946 0123',
  mobile: undefined,
  postcode: 'W1A 1AB',
}
let others = 0
/** Returns the fields of a lead of another person, with the fields in `over` replaced. */
const stranger = (over: object = {}) => {
  others += 1
  const digits = String(others).padStart(6, '0')
  const name = { firstName: `N${digits.replace(/\d/g, (digit) => 'abcdefghij'[Number(digit)]!)}` }
  return { ...PERSON, ...name, email: `${digits}@other.test`, phone: `07700 ${digits}`, ...over }
}

const create = async (accountId: number, ...leads: Parameters<typeof newLead>[0][]): Promise<string[]> => {
  const items = leads.map((lead) => newItem(accountId, { lead: newLead(lead) }))
  const made = readOutcomes(await service.leads.createLeads({ leads: items })) as { reference: string }[]
  return made.map(({ reference }) => reference)
}

/** Indexes all leads of an account. Resolves with the events lead.duplicate_suspected, as JSON. */
const index = async (accountId: number): Promise<{ reference: string; suspects: object[] }[]> => {
  const committed: OutboxEvent[] = []
  const onCommitted = (events: OutboxEvent[]) => void committed.push(...events)
  await catchUp({ database: service.db, onCommitted, duplicateWindowMs: WINDOW_MS }, accountId)
  return committed.map(({ payload }) => JSON.parse(Buffer.from(Event.decode(payload).body).toString()).data)
}

const listSuspectEvents = (accountId: number) =>
  service.db.query<{ lead_reference: string }>({
    text: `SELECT lead_reference FROM outbox WHERE account_id = $1 AND type = 'lead.duplicate_suspected'`,
    values: [accountId],
  })

const listSuspects = async (accountId: number, reference: string) =>
  (await service.leads.listLeadDuplicates({ accountId, reference })).suspects

const mark = async (accountId: number, reference: string, original?: string) =>
  JSON.parse((await service.leads.markLeadDuplicate({ accountId, reference, original })).body.toString()).data

const retrieve = async (accountId: number, reference: string) =>
  JSON.parse((await service.leads.retrieveManagedLead({ accountId, reference })).body.toString()).data

test.each<[what: string, first: object, second: object, reasons: string[]]>([
  ['the e-mail in another case', PERSON, stranger({ email: 'ANN@Example.test' }), ['email']],
  [
    'dots, a tag and the other domain of Google',
    { ...PERSON, email: 'an.n.mail+windows@gmail.com' },
    stranger({ email: 'Annmail@GoogleMail.com' }),
    ['email'],
  ],
  [
    'dots of another domain',
    { ...PERSON, email: 'a.nn@example.test' },
    stranger({ email: 'ann@example.test' }),
    [],
  ],
  [
    'a tag of another domain',
    { ...PERSON, email: 'ann+a@example.test' },
    stranger({ email: 'ann@example.test' }),
    [],
  ],
  ['the phone in another spelling', PERSON, stranger({ phone: '+44 (0)20 7946-0123 ext 4' }), ['phone']],
  ['the phone as mobile', PERSON, stranger({ mobile: '02079460123' }), ['phone']],
  ['digits that are no number', { ...PERSON, phone: '12345' }, stranger({ phone: '12345' }), []],
  [
    'name and postcode in other letters',
    PERSON,
    stranger({ firstName: 'ann marie', lastName: "O'NEIL" }),
    ['name_postcode'],
  ],
  [
    'the name at another postcode',
    PERSON,
    stranger({ ...PERSON, email: 'x@y.test', phone: '07700 900999', postcode: 'M1 1AA' }),
    [],
  ],
  ['all', PERSON, PERSON, ['email', 'phone', 'name_postcode']],
])('%s', async (_, first, second, reasons) => {
  const { accountId } = await newAccount(service)
  await create((await newAccount(service)).accountId, PERSON)
  const [earlier, later] = (await create(accountId, first, second)) as [string, string]
  const suspects = reasons.length > 0 ? [{ reference: earlier, reasons }] : []
  expect(await index(accountId)).toEqual(reasons.length > 0 ? [{ reference: later, suspects }] : [])
  expect(await listSuspects(accountId, later)).toEqual(suspects)
  expect(await listSuspects(accountId, earlier)).toEqual(suspects.map(() => ({ reference: later, reasons })))
})

test('each lead is reported once, however often its words are written, and none of an import without webhooks', async () => {
  const { accountId } = await newAccount(service)
  await create(accountId, PERSON, PERSON)
  expect(await index(accountId)).toHaveLength(1)
  await service.db.query({
    text: 'UPDATE lead_search_progress SET format = 0 WHERE account_id = $1',
    values: [accountId],
  })
  const [third] = await create(accountId, PERSON)
  await create(accountId, PERSON)
  await service.db.query({
    text: 'UPDATE leads SET event_id = NULL WHERE account_id = $1 AND number = 4',
    values: [accountId],
  })
  expect((await index(accountId)).map(({ reference }) => reference)).toEqual([third])
  expect(await index(accountId)).toEqual([])
  expect(await listSuspectEvents(accountId)).toHaveLength(2)
})

test('a round that fails reports nothing, and the next one does', async () => {
  const { accountId } = await newAccount(service)
  await create(accountId, PERSON, PERSON)
  const killed = service.db.transaction(async (tx) => {
    const database = { ...service.db, transaction: <T>(work: (inner: typeof tx) => Promise<T>) => work(tx) }
    await catchUp(
      { database: database as typeof service.db, onCommitted: () => undefined, duplicateWindowMs: WINDOW_MS },
      accountId,
    )
    throw new Error('killed')
  })
  await expect(killed).rejects.toThrow('killed')
  expect(await listSuspectEvents(accountId)).toEqual([])
  expect(await index(accountId)).toHaveLength(1)
})

test('the newest 20 within the window, which an index finds among many leads of a person', async () => {
  const { accountId } = await newAccount(service)
  const references: string[] = []
  for (let batch = 0; batch < 6; batch += 1)
    references.push(...(await create(accountId, ...Array.from({ length: 50 }, () => PERSON))))
  const events = await index(accountId)
  expect(events).toHaveLength(299)
  const last = events.at(-1)!
  const newest = references.slice(-21, -1).toReversed()
  expect(last.suspects).toEqual(
    newest.map((reference) => ({ reference, reasons: ['email', 'phone', 'name_postcode'] })),
  )
  const age = (numbers: string, days: number) =>
    service.db.query({
      text: `UPDATE leads SET created_at = created_at - make_interval(days => $2) WHERE account_id = $1 AND number ${numbers}`,
      values: [accountId, days],
    })
  await age('<= 280', 91)
  const found = async (at: number) =>
    (await listSuspects(accountId, references[at]!)).map(({ reference }) => reference)
  expect(await found(299)).toEqual(references.slice(280, 299).toReversed())
  expect(await found(10)).toEqual(references.slice(260, 280).toReversed())
})

test('an erased lead has no suspects, is none, and its links are gone', async () => {
  const { accountId } = await newAccount(service)
  const [first, second, third] = (await create(accountId, PERSON, PERSON, PERSON)) as [string, string, string]
  await mark(accountId, second, first)
  await mark(accountId, third, first)
  const { etag } = await service.leads.retrieveManagedLead({ accountId, reference: third })
  await service.leads.eraseLead({ accountId, reference: second })
  expect((await index(accountId)).map(({ reference }) => reference)).toEqual([third])
  expect(await listSuspects(accountId, second)).toEqual([])
  expect(await listSuspects(accountId, first)).toEqual([expect.objectContaining({ reference: third })])
  expect(await retrieve(accountId, second)).toMatchObject({ duplicate_of: null, status: 'duplicate' })
  await expect(mark(accountId, third, second)).rejects.toMatchObject({ code: 'invalid' })
  await expect(mark(accountId, second, first)).rejects.toMatchObject({ code: 'lead_erased' })
  await service.leads.eraseLead({ accountId, reference: first })
  expect(await listSuspectEvents(accountId)).toHaveLength(1)
  expect(await retrieve(accountId, third)).toMatchObject({ duplicate_of: null, status: 'duplicate' })
  expect((await service.leads.retrieveManagedLead({ accountId, reference: third })).etag).not.toBe(etag)
  expect(await mark(accountId, third)).toMatchObject({ duplicate_of: null, status: 'open' })
})

test('a mark is an update: version, history, event; undone it gives the status back', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const [original, reference] = (await create(accountId, PERSON, {
    ...PERSON,
    status: 'callback_later',
  })) as [string, string]
  const actor = { tokenId, tokenName: '', requestId: 'mark' }
  const asked = { accountId, reference, original: original.toUpperCase() }
  const { body, etag } = await service.leads.markLeadDuplicate(asked, { actor })
  expect(JSON.parse(body.toString()).data).toMatchObject({ status: 'duplicate', duplicate_of: original })
  expect(etag).toMatch(/^"2-/)
  expect((await service.leads.markLeadDuplicate(asked, { actor })).etag).toBe(etag)
  const { items } = await service.leads.listLeadHistory({ accountId, reference })
  const changes = [
    { field: 'status', from: 'callback_later', to: 'duplicate' },
    { field: 'duplicate_of', from: null, to: original },
  ]
  expect(JSON.parse(items.toString())[0]).toMatchObject({ version: 2, request_id: 'mark', changes })
  const event = Event.decode(service.committed.at(-1)!.payload)
  expect(event).toMatchObject({ type: 'lead.updated', leadVersion: 2, match: { status: 'duplicate' } })
  expect(JSON.parse(Buffer.from(event.body).toString()).data).toMatchObject({ status: 'duplicate', changes })
  expect(await mark(accountId, reference)).toMatchObject({ status: 'callback_later', duplicate_of: null })
  expect(await mark(accountId, reference)).toMatchObject({ status: 'callback_later', duplicate_of: null })
  expect(await retrieve(accountId, original)).toMatchObject({ status: 'open', duplicate_of: null })
})

test('a status that was changed meanwhile stays, and one that a user set is not undone', async () => {
  const { accountId } = await newAccount(service)
  const [original, reference] = (await create(accountId, PERSON, PERSON)) as [string, string]
  await mark(accountId, reference, original)
  await service.leads.updateLead({ accountId, reference, status: 'sold' })
  expect(await mark(accountId, reference)).toMatchObject({ status: 'sold', duplicate_of: null })
  await service.leads.updateLead({ accountId, reference, status: 'duplicate' })
  expect(await mark(accountId, reference)).toMatchObject({ status: 'duplicate' })
  expect(await mark(accountId, reference, original)).toMatchObject({ duplicate_of: original })
  expect(await mark(accountId, reference)).toMatchObject({ status: 'duplicate', duplicate_of: null })
})

test('a lead is no duplicate of itself, of a duplicate, or of what the account does not have', async () => {
  const { accountId } = await newAccount(service)
  const [a, b, c] = (await create(accountId, PERSON, PERSON, PERSON)) as [string, string, string]
  const [foreign] = await create((await newAccount(service)).accountId, PERSON)
  await mark(accountId, a, b)
  for (const [reference, original] of [
    [a, a] as const,
    [b, a] as const,
    [c, a] as const,
    ...[foreign!, randomUUID(), 'no uuid'].map((other) => [c, other] as const),
  ])
    await expect(mark(accountId, reference, original)).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: { reference: [expect.any(String)] },
    })
  for (const reference of [foreign!, randomUUID(), 'no uuid']) {
    await expect(mark(accountId, reference, a)).rejects.toMatchObject({ code: 'not_found' })
    await expect(listSuspects(accountId, reference)).rejects.toMatchObject({ code: 'not_found' })
  }
  await mark(accountId, b, c)
  expect(await mark(accountId, a, c)).toMatchObject({ duplicate_of: c })
})

test('of two leads that are marked as duplicates of each other at once one is', async () => {
  const { accountId } = await newAccount(service)
  for (let round = 0; round < 5; round += 1) {
    const [a, b] = (await create(accountId, PERSON, PERSON)) as [string, string]
    const ends = await Promise.allSettled([mark(accountId, a, b), mark(accountId, b, a)])
    expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  }
})

test('of leads that are created at once each later one names all earlier ones', async () => {
  const { accountId } = await newAccount(service)
  const made = await Promise.all(Array.from({ length: 12 }, () => create(accountId, PERSON)))
  const events: { suspects: object[] }[] = []
  await eventually(async () => {
    events.push(...(await Promise.all([index(accountId), index(accountId)])).flat())
    expect(events).toHaveLength(made.length - 1)
  })
  expect(events.map(({ suspects }) => suspects.length).sort((x, y) => x - y)).toEqual(
    Array.from({ length: 11 }, (_, at) => at + 1),
  )
})
