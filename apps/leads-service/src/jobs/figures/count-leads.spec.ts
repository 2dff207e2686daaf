import type { NewLead } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
  TIME_ZONE,
} from '../../leads-service.fixture'
import { countLeads } from './count-leads'
import { startFigures } from './start-figures'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const create = async (accountId: number, ...leads: Partial<NewLead>[]): Promise<string[]> => {
  const items = leads.map((lead) => newItem(accountId, { lead: newLead(lead) }))
  const created = readOutcomes(await service.leads.createLeads({ leads: items })) as { reference: string }[]
  return created.map(({ reference }) => reference)
}

/** Creates a user, and returns the user's id and the actor of the user's changes. */
const newUser = async ({ accountId, tokenId }: { accountId: number; tokenId: number }, name = 'Sam') => {
  const email = `${name.toLowerCase()}@example.test`
  const { user } = await service.accounts.createUser({ accountId, email, name })
  return { id: user!.id, email, actor: { tokenId, tokenName: '', requestId: 'spec', userId: user!.id } }
}

/** Counts all leads and changes of an account. */
const count = async (accountId: number, timeZone = TIME_ZONE): Promise<void> => {
  let state = 'more'
  while (state === 'more') state = await countLeads({ database: service.db, timeZone }, accountId)
  expect(state).toBe('done')
}

const EVER = { from: '1900-01-01', to: '2199-12-31' }

const retrieve = async (accountId: number, ...groupBy: string[]) => {
  const { figures, isCurrent } = await service.figures.retrieveFigures({ accountId, ...EVER, groupBy })
  expect(isCurrent).toBe(true)
  return figures
}

/** Counts, and returns the figures of each group as [group, created, appointments, sold, lost, value sold]. */
const countBy = async (accountId: number, group: 'day' | 'referrer' | 'status' | 'user') => {
  await count(accountId)
  const figures = await retrieve(accountId, group)
  return figures.map(({ day, referrer, status, userId, ...row }) => [
    day ?? referrer ?? status ?? userId,
    row.created,
    row.appointments,
    row.sold,
    row.lost,
    row.valueSold,
  ])
}

const query = <Row extends object>(text: string, ...values: unknown[]) =>
  service.db.query<Row>({ text, values })

/** Returns the sums of an account as they are stored. */
const readSums = async (accountId: number) => {
  const days = await query('SELECT d.*, day::text FROM daily_figures d WHERE account_id = $1', accountId)
  const responses = await query(
    'SELECT r.*, day::text FROM response_figures r WHERE account_id = $1',
    accountId,
  )
  return [...days, ...responses].map((row) => JSON.stringify(row)).toSorted()
}

/** Compares all figures of an account with its leads. Returns the differences. */
const check = async (accountId: number) => {
  const differing: (number | string)[] = []
  let position: { afterNumber?: number; afterDay?: string } | undefined = {}
  while (position) {
    const batch = await service.figures.checkFigures({ accountId, ...position })
    differing.push(...batch.differingLeads, ...batch.differingDays)
    const { nextNumber: afterNumber, nextDay: afterDay } = batch
    if (afterNumber !== undefined) position = { afterNumber }
    else position = afterDay === undefined ? undefined : { afterDay }
  }
  return differing
}

const entry = (accountId: number, reference: string, userId: number) => ({
  accountId,
  reference,
  userId,
  notify: false,
  date: '2027-03-01T09:30:00Z',
  idempotency: undefined,
})

test('a lead counts with its present status, value, referrer and user', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const user = await newUser(account)
  const references = await create(accountId, {}, { status: 'lost' }, { status: 'sold', value: 700 }, {})
  const [first, , sold, last] = references as [string, string, string, string]
  expect(await countBy(accountId, 'status')).toEqual([
    ['lost', 1, 0, 0, 1, 0],
    ['open', 2, 0, 0, 0, 0],
    ['sold', 1, 0, 1, 0, 700],
  ])

  await service.leads.updateLead({ accountId, reference: first, status: 'sold', value: 50 })
  await service.leads.updateLead({ accountId, reference: sold, value: 900 })
  expect(await countBy(accountId, 'status')).toEqual([
    ['lost', 1, 0, 0, 1, 0],
    ['open', 1, 0, 0, 0, 0],
    ['sold', 2, 0, 2, 0, 950],
  ])

  await service.leads.markLeadDuplicate({ accountId, reference: sold, original: last })
  await service.leads.updateLead({ accountId, reference: first, status: 'lost', userEmail: user.email })
  expect(await countBy(accountId, 'status')).toEqual([
    ['duplicate', 1, 0, 0, 0, 0],
    ['lost', 2, 0, 0, 2, 0],
    ['open', 1, 0, 0, 0, 0],
  ])
  expect(await countBy(accountId, 'user')).toEqual([
    [0, 3, 0, 0, 1, 0],
    [user.id, 1, 0, 0, 1, 0],
  ])
  expect(await check(accountId)).toEqual([])
})

test('an upsert, a batch and an erasure are counted', async () => {
  const { accountId } = await newAccount(service)
  const upsert = async (over: Partial<NewLead>, given: string[]) =>
    service.leads.upsertLead({
      accountId,
      lead: newLead({ externalId: 'crm-1', upsert: { given, ifMatch: undefined }, ...over }),
      idempotency: undefined,
      traceparent: '',
    })
  const required = ['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status']
  const { body } = await upsert({ status: 'open' }, required)
  await upsert({ status: 'sold', value: 30, referrer: 'Phone' }, ['status', 'value', 'referrer'])
  const rows = [newLead({ referrer: 'Email' }), newLead({ referrer: 'Email', status: 'sold', value: 4 })]
  await service.imports.writeLeadBatch({
    accountId,
    rows: rows.map((value) => ({ row: { $case: 'lead' as const, value }, source: undefined })),
    idempotency: undefined,
    traceparent: '',
  })
  const expected = [
    ['Email', 2, 0, 1, 0, 4],
    ['Phone', 1, 0, 1, 0, 30],
  ]
  expect(await countBy(accountId, 'referrer')).toEqual(expected)
  const { reference } = JSON.parse(body.toString()).data
  await service.leads.eraseLead({ accountId, reference })
  expect(await countBy(accountId, 'referrer')).toEqual(expected)
  expect(await check(accountId)).toEqual([])
})

test('test leads do not count, whether they are marked or have the status test', async () => {
  const { accountId } = await newAccount(service)
  const [, reference] = await create(accountId, { test: true, status: 'sold' }, {})
  expect(await countBy(accountId, 'status')).toEqual([['open', 1, 0, 0, 0, 0]])
  await service.leads.updateLead({ accountId, reference: reference!, status: 'test' })
  expect(await countBy(accountId, 'status')).toEqual([])
  await service.leads.updateLead({ accountId, reference: reference!, status: 'open' })
  expect(await countBy(accountId, 'status')).toEqual([['open', 1, 0, 0, 0, 0]])
  expect(await check(accountId)).toEqual([])
})

test('an appointment counts on the day on which it was booked, even if it is cancelled', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const { id: userId } = await newUser(account)
  const [reference] = await create(accountId, {})
  const appointment = entry(accountId, reference!, userId)
  const { body } = await service.leads.scheduleAppointment({ appointment })
  await service.leads.scheduleAppointment({ appointment })
  await service.leads.scheduleCallback({ callback: appointment })
  expect(await countBy(accountId, 'status')).toEqual([['open', 1, 2, 0, 0, 0]])
  const { id } = JSON.parse(body.toString()).data
  const change = { accountId, reference: reference!, id, notify: false }
  await service.leads.cancelAppointment({ change })
  expect(await countBy(accountId, 'status')).toEqual([['open', 1, 2, 0, 0, 0]])

  await query(
    `UPDATE appointments SET created_at = '2199-12-31T12:00:00Z' WHERE account_id = $1 AND id = $2`,
    accountId,
    id,
  )
  await service.leads.updateLead({ accountId, reference: reference!, status: 'lost' })
  const [today, last] = await countBy(accountId, 'day')
  expect(today).toEqual([expect.any(String), 1, 1, 0, 1, 0])
  expect(last).toEqual(['2199-12-31', 0, 1, 0, 0, 0])
})

const readSale = async (accountId: number) => {
  const [row] = await query<{ at: string | null }>(
    'SELECT sold_at AS at FROM leads WHERE account_id = $1',
    accountId,
  )
  return row!.at
}

test('a lead keeps the time of its sale while it stays sold', async () => {
  const { accountId } = await newAccount(service)
  const [reference] = (await create(accountId, {})) as [string]
  const update = (over: { status?: string; value?: number }) =>
    service.leads.updateLead({ accountId, reference, ...over })
  expect(await readSale(accountId)).toBeNull()
  await update({ status: 'sold' })
  const first = await readSale(accountId)
  expect(first).toEqual(expect.any(String))
  await update({ value: 5 })
  await update({ status: 'sold' })
  expect(await readSale(accountId)).toBe(first)
  await update({ status: 'lost' })
  expect(await readSale(accountId)).toBeNull()
  await update({ status: 'sold' })
  expect((await readSale(accountId))! > first!).toBe(true)
})

test('a lead that is marked as a duplicate by mistake keeps the time of its sale', async () => {
  const { accountId } = await newAccount(service)
  const [first, reference] = (await create(accountId, {}, {})) as [string, string]
  const mark = (original: string | undefined) =>
    service.leads.markLeadDuplicate({ accountId, reference, original })
  await mark(first)
  await service.leads.updateLead({ accountId, reference, status: 'sold', value: 7 })
  await query(
    `UPDATE leads SET sold_at = '2025-02-06T12:00:00Z' WHERE account_id = $1 AND number = 2`,
    accountId,
  )
  await mark(undefined)
  await mark(first)
  expect(await countBy(accountId, 'status')).toEqual([
    ['duplicate', 1, 0, 0, 0, 0],
    ['open', 1, 0, 0, 0, 0],
  ])
  await mark(undefined)
  expect(await countBy(accountId, 'day')).toEqual([
    ['2025-02-06', 0, 0, 1, 0, 7],
    [expect.any(String), 2, 0, 0, 0, 0],
  ])
  expect(await check(accountId)).toEqual([])
})

test('a sale that an earlier release recorded counts on the day of the last change of the status', async () => {
  const { accountId } = await newAccount(service)
  const createdAt = '2025-01-05T12:00:00Z'
  const [changed] = (await create(accountId, { createdAt }, { createdAt, status: 'sold', value: 1 })) as [
    string,
  ]
  await service.leads.updateLead({ accountId, reference: changed, status: 'sold', value: 2 })
  await service.leads.updateLead({ accountId, reference: changed, value: 8 })
  await query('UPDATE leads SET sold_at = NULL WHERE account_id = $1', accountId)
  await query(
    `UPDATE lead_changes SET created_at = '2025-02-06T12:00:00Z' WHERE account_id = $1 AND version = 2`,
    accountId,
  )
  expect(await countBy(accountId, 'day')).toEqual([
    ['2025-01-05', 2, 0, 1, 0, 1],
    ['2025-02-06', 0, 0, 1, 0, 8],
  ])
})

test('days begin and end in the time zone, also when the clocks change', async () => {
  const { accountId } = await newAccount(service)
  const times = [
    // The clocks go forward on 2025-03-30 at 01:00 UTC.
    '2025-03-29T23:59:59Z',
    '2025-03-30T00:00:00Z',
    '2025-03-30T22:59:59Z',
    '2025-03-30T23:00:00Z',
    // The clocks go back on 2025-10-26 at 01:00 UTC.
    '2025-10-25T22:59:59Z',
    '2025-10-25T23:00:00Z',
    '2025-10-26T23:59:59Z',
    '2025-10-27T00:00:00Z',
  ]
  await create(accountId, ...times.map((createdAt) => ({ createdAt })))
  const readDays = async () => (await retrieve(accountId, 'day')).map(({ day, created }) => [day, created])
  await count(accountId)
  expect(await readDays()).toEqual([
    ['2025-03-29', 1],
    ['2025-03-30', 2],
    ['2025-03-31', 1],
    ['2025-10-25', 1],
    ['2025-10-26', 2],
    ['2025-10-27', 1],
  ])
  await service.figures.rebuildFigures({ accountId })
  await count(accountId, 'UTC')
  expect(await readDays()).toEqual([
    ['2025-03-29', 1],
    ['2025-03-30', 3],
    ['2025-10-25', 2],
    ['2025-10-26', 1],
    ['2025-10-27', 1],
  ])
})

const readResponses = async (accountId: number) => {
  await count(accountId)
  const [figures] = await retrieve(accountId, 'referrer')
  return [figures!.responseMedianSeconds, figures!.responseP90Seconds]
}

test('percentiles are within 2.5 % of the times to the first response', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const { id: userId } = await newUser(account)
  const references = await create(accountId, ...Array.from({ length: 100 }, () => ({})))
  expect(await readResponses(accountId)).toEqual([undefined, undefined])
  for (const reference of references)
    await service.leads.scheduleCallback({ callback: entry(accountId, reference, userId) })
  // The responses come after one minute, two minutes, and so on.
  await query(
    `UPDATE callbacks c SET created_at = l.created_at + l.number * interval '1 minute'
     FROM leads l WHERE l.account_id = $1 AND c.account_id = $1 AND c.lead_id = l.id`,
    accountId,
  )
  const [median, p90] = await readResponses(accountId)
  expect(Math.abs(median! / (50 * 60) - 1)).toBeLessThan(0.025)
  expect(Math.abs(p90! / (90 * 60) - 1)).toBeLessThan(0.025)
  expect(await check(accountId)).toEqual([])
})

test('only a person, an appointment or a callback responds, and only to a lead without a given time', async () => {
  const account = await newAccount(service)
  const { accountId, tokenId } = account
  const { id: userId, actor } = await newUser(account)
  const [reference, dated] = (await create(accountId, {}, { createdAt: '2025-01-05T12:00:00Z' })) as [
    string,
    string,
  ]
  const program = { tokenId, tokenName: '', requestId: 'spec' }
  await service.leads.updateLead({ accountId, reference, value: 5 }, { actor: program })
  await service.leads.scheduleCallback({ callback: entry(accountId, dated, userId) })
  expect(await readResponses(accountId)).toEqual([undefined, undefined])
  await service.leads.updateLead({ accountId, reference, value: 6 }, { actor })
  expect(await readResponses(accountId)).toEqual([expect.any(Number), expect.any(Number)])
  await query(
    `UPDATE lead_changes SET created_at = created_at + interval '1 hour' WHERE account_id = $1`,
    accountId,
  )
  await service.leads.scheduleAppointment({ appointment: entry(accountId, reference, userId) })
  const [median] = await readResponses(accountId)
  expect(median).toBeLessThan(600)
})

test('a note is a response until it is deleted', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const [reference] = (await create(accountId, {})) as [string]
  const { body } = await service.leads.addNote({ accountId, reference, text: 'Called.' })
  expect(await readResponses(accountId)).toEqual([expect.any(Number), expect.any(Number)])
  const { id } = JSON.parse(body.toString()).data
  await service.leads.deleteNote({ accountId, reference, id })
  expect(await readResponses(accountId)).toEqual([undefined, undefined])
  expect(await check(accountId)).toEqual([])
})

test('an erased lead keeps its response, also after a rebuild', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const { id: userId, actor } = await newUser(account)
  const [reference] = (await create(accountId, {})) as [string]
  await service.leads.scheduleCallback({ callback: entry(accountId, reference, userId) })
  const responses = await readResponses(accountId)
  expect(responses).toEqual([expect.any(Number), expect.any(Number)])
  await service.leads.eraseLead({ accountId, reference }, { actor })
  // Stands for records that an erasure deletes.
  await query('DELETE FROM callbacks WHERE account_id = $1', accountId)
  expect(await readResponses(accountId)).toEqual(responses)
  await service.figures.rebuildFigures({ accountId })
  expect(await readResponses(accountId)).toEqual(responses)
  expect(await check(accountId)).toEqual([])
})

test('a lead that is erased while it is counted keeps its response', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const { id: userId } = await newUser(account)
  const [reference] = (await create(accountId, {})) as [string]
  await service.leads.scheduleCallback({ callback: entry(accountId, reference, userId) })
  const responses = await readResponses(accountId)
  await service.leads.updateLead({ accountId, reference, value: 5 })
  const { counted } = await service.db.transaction(async (tx) => {
    // The batch has then read the lead, and waits to delete its figures.
    await tx.query({
      text: 'SELECT FROM lead_figures WHERE account_id = $1 FOR UPDATE',
      values: [accountId],
    })
    const batches = count(accountId)
    await eventually(async () =>
      expect(
        await query(
          `SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
             AND query LIKE '%DELETE FROM lead_figures%'`,
        ),
      ).toHaveLength(1),
    )
    await service.leads.eraseLead({ accountId, reference })
    // Stands for records that an erasure deletes.
    await query('DELETE FROM callbacks WHERE account_id = $1', accountId)
    return { counted: batches }
  })
  await counted
  expect(await readResponses(accountId)).toEqual(responses)
  expect(await check(accountId)).toEqual([])
})

test('two processes count each change once, while leads are created and changed', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const user = await newUser(account)
  const { db: database, logger } = service
  const loops = [1, 2].map(() => startFigures({ database, logger, timeZone: TIME_ZONE }))
  const work = async (worker: number) => {
    for (let round = 0; round < 10; round += 1) {
      const [first, second] = (await create(accountId, { value: worker }, {})) as [string, string]
      await service.leads.updateLead({ accountId, reference: first, status: 'sold', userEmail: user.email })
      await service.leads.updateLead({ accountId, reference: second, status: round % 2 ? 'lost' : 'test' })
      for (const { enqueue } of loops) enqueue([{ accountId }])
    }
  }
  await Promise.all([1, 2, 3, 4].map(work))
  await eventually(async () =>
    expect(await service.figures.retrieveFigures({ accountId, ...EVER, groupBy: ['status'] })).toMatchObject({
      figures: [
        { status: 'lost', created: 20, sold: 0, lost: 20 },
        { status: 'sold', created: 40, sold: 40, valueSold: 100 },
      ],
      isCurrent: true,
    }),
  )
  await Promise.all(loops.map(({ stop }) => stop()))
  expect(await check(accountId)).toEqual([])
})

test('a rebuild gives the same figures, and finds the leads that are created meanwhile', async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const user = await newUser(account)
  const statuses = ['open', 'sold', 'lost', 'test', 'sold']
  const references = await create(accountId, ...statuses.map((status, value) => ({ status, value })))
  for (const reference of references) {
    await service.leads.scheduleAppointment({ appointment: entry(accountId, reference, user.id) })
    await service.leads.updateLead({ accountId, reference, userEmail: user.email }, { actor: user.actor })
  }
  await count(accountId)
  const before = await readSums(accountId)
  expect(before).not.toEqual([])
  await service.figures.rebuildFigures({ accountId })
  await service.leads.updateLead({ accountId, reference: references[0]!, status: 'lost' })
  await service.leads.updateLead({ accountId, reference: references[0]!, status: 'open' })
  const asked = { accountId, ...EVER, groupBy: ['day'] }
  expect(await service.figures.retrieveFigures(asked)).toMatchObject({ isCurrent: false })
  await count(accountId)
  expect(await readSums(accountId)).toEqual(before)
  await service.figures.rebuildFigures({ accountId })
  await create(accountId, { status: 'spam' })
  await count(accountId)
  expect(await retrieve(accountId, 'status')).toContainEqual(
    expect.objectContaining({ status: 'spam', created: 1 }),
  )
  expect(await check(accountId)).toEqual([])
})

test('a check finds wrong figures, and a rebuild corrects them', async () => {
  const { accountId } = await newAccount(service)
  await create(accountId, {}, { status: 'sold', value: 5, createdAt: '2025-01-05T12:00:00Z' })
  await count(accountId)
  expect(await check(accountId)).toEqual([])
  await query('UPDATE daily_figures SET created = 7 WHERE account_id = $1 AND sold = 1', accountId)
  expect(await check(accountId)).toEqual(['2025-01-05'])
  await query('UPDATE leads SET value = 6 WHERE account_id = $1 AND number = 2', accountId)
  expect(await check(accountId)).toEqual([2, '2025-01-05'])
  await service.figures.rebuildFigures({ accountId })
  expect(await check(accountId)).toEqual([])
  await count(accountId)
  expect(await check(accountId)).toEqual([])
  expect(await retrieve(accountId, 'status')).toContainEqual(
    expect.objectContaining({ status: 'sold', created: 1, valueSold: 6 }),
  )
})

test('a request for too many figures or groups is refused', async () => {
  const { accountId } = await newAccount(service)
  const request = (group: string) =>
    service.figures.retrieveFigures({ accountId, from: '2025-01-01', to: '2025-12-31', groupBy: [group] })
  // Inserts the rows in parts, because a busy machine might not insert all of them within the statement timeout.
  for (let last = 0; last < 400_000; last += 50_000)
    await query(
      `INSERT INTO daily_figures
       SELECT $1, date '2025-01-01' + n % 365, 'Referrer ' || n % 10001, 'open', n, 1, 0, 0, 0, 0
       FROM generate_series($2 + 1, $2 + 50000) n`,
      accountId,
      last,
    )
  expect((await request('day')).figures).toHaveLength(365)
  await expect(request('referrer')).rejects.toMatchObject({
    fieldErrors: { to: [expect.stringContaining('10000 groups')] },
  })
  await query(
    `INSERT INTO response_figures VALUES ($1, date '2025-01-01', 'Referrer 1', 'open', 1, 9, 1)`,
    accountId,
  )
  await expect(request('day')).rejects.toMatchObject({
    fieldErrors: { to: [expect.stringContaining('too many figures')] },
  })
})

test('an account has its own figures, and an unknown account has none', async () => {
  const { accountId } = await newAccount(service)
  const other = await newAccount(service)
  await create(accountId, {})
  await count(accountId)
  expect(await retrieve(other.accountId, 'day', 'user')).toEqual([])
  for (const call of [service.figures.rebuildFigures, service.figures.checkFigures])
    await expect(call({ accountId: 999_999_999 })).rejects.toMatchObject({ code: 'not_found' })
  expect(await countLeads({ database: service.db, timeZone: TIME_ZONE }, 999_999_999)).toBe('done')
})
