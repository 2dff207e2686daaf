import { Event, type EventType, NotificationRequested } from '@leadwire/contracts'
import type { Database, OpenTransaction } from '@leadwire/service-kit'
import { eventually, gate } from '@leadwire/test-kit'
import {
  lockWaiters,
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'
import { createRecordDueEvents } from './record-due-events'

/** The date of the entries in these specs, which is far ahead of the clock. */
const DATE = '2098-06-01T10:00:00.000000Z'
const LATER = '2098-06-08T10:00:00.000000Z'
/** Long after the dates of all entries. */
const END = '2199-01-01T00:00:00Z'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService({}, { poolSize: 12 })
})
afterAll(() => service.stop())

/** Creates the loop of a process. */
const createProcess = () => createRecordDueEvents({ database: service.db, onCommitted: () => undefined })

/** Runs rounds of a new process until nothing is left that is due at `now`. */
const runUntil = async (now: string) => {
  const runRound = createProcess()
  while ((await runRound(now)) === true);
}

/** Returns a time that is a number of minutes before another. */
const before = (date: string, minutes: number): string =>
  new Date(Date.parse(date) - minutes * 60_000).toISOString()

const newUser = async (accountId: number, name: string) =>
  (await service.accounts.createUser({ accountId, email: `${name}@example.test`, name })).user!.id

/** Creates an account with a user and a lead. */
const newScene = async () => {
  const { accountId } = await newAccount(service)
  const userId = await newUser(accountId, 'sam')
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  return { accountId, userId, reference: lead.reference as string, leadId: lead.id as number }
}

type Scene = Awaited<ReturnType<typeof newScene>>

const operations = {
  appointment: {
    schedule: (appointment: object) => service.leads.scheduleAppointment({ appointment }),
    change: (change: object) => service.leads.rescheduleAppointment({ change }),
    cancel: (change: object) => service.leads.cancelAppointment({ change }),
  },
  callback: {
    schedule: (callback: object) => service.leads.scheduleCallback({ callback }),
    change: (change: object) => service.leads.rescheduleCallback({ change }),
    cancel: (change: object) => service.leads.cancelCallback({ change }),
  },
}

const readPayloads = async (accountId: number, isOfType: (type: string) => boolean) => {
  const rows = await service.db.query<{ type: string; payload: Buffer }>({
    text: 'SELECT type, payload FROM outbox WHERE account_id = $1 ORDER BY created_at',
    values: [accountId],
  })
  return rows.flatMap(({ type, payload }) => (isOfType(type) ? [payload] : []))
}

/** Lists the bodies of the due events of an account, oldest first. */
const listDue = async (accountId: number) => {
  const payloads = await readPayloads(accountId, (type) => type.endsWith('.due'))
  return payloads.map((payload) => {
    const { body, ...event } = Event.decode(payload)
    return { ...event, type: event.type as EventType, data: JSON.parse(Buffer.from(body).toString()).data }
  })
}

const listDueDates = async (accountId: number) => (await listDue(accountId)).map(({ data }) => data.date)

const countRows = async (accountId: number): Promise<number> =>
  (await service.db.query({ text: 'SELECT FROM due_events WHERE account_id = $1', values: [accountId] }))
    .length

describe.each([
  ['appointment', 60],
  ['callback', 0],
] as const)('%s', (kind, defaultMinutes) => {
  const { schedule, change, cancel } = operations[kind]
  const leadTimeField = `${kind}DueMinutes`

  /** Schedules an entry. Returns it with functions that change it. */
  const newEntry = async (scene: Scene, fields: object = {}) => {
    const { accountId, userId, reference } = scene
    const asked = { accountId, reference, userId, date: DATE, notify: false, ...fields }
    const { body } = await schedule(asked)
    const { data } = JSON.parse(body.toString())
    const key = { accountId, reference, id: data.id as number }
    return {
      data,
      change: (changed: object) => change({ ...key, ...changed }),
      cancel: () => cancel(key),
    }
  }

  const setLeadTime = ({ accountId }: Scene, minutes: number) =>
    service.accounts.updateAccount({ accountId, [leadTimeField]: minutes })

  test('its event is recorded once, at the lead time before its date', async () => {
    const scene = await newScene()
    const { accountId, reference } = scene
    const { data } = await newEntry(scene)
    await runUntil(before(DATE, defaultMinutes + 1 / 60))
    expect(await listDue(accountId)).toEqual([])
    for (const now of [before(DATE, defaultMinutes), DATE, END]) await runUntil(now)
    expect(await listDue(accountId)).toMatchObject([
      {
        type: `${kind}.due`,
        leadReference: reference,
        leadVersion: 1,
        match: { status: 'open' },
        data: { ...data, cancelled_at: null, done_at: null, remind: false },
      },
    ])
    expect(await countRows(accountId)).toBe(0)
    expect(await readPayloads(accountId, (type) => type === 'notification.requested')).toEqual([])
  })

  test('gets no event if the time had passed when the date was set', async () => {
    const scene = await newScene()
    await setLeadTime(scene, 60)
    const soon = before(new Date().toISOString(), -30)
    const entry = await newEntry(scene, { date: soon })
    expect(await countRows(scene.accountId)).toBe(0)
    await entry.change({ date: DATE })
    await entry.change({ date: soon })
    await runUntil(END)
    expect(await listDue(scene.accountId)).toEqual([])
  })

  test('a move moves the event, and another user does not', async () => {
    const scene = await newScene()
    const { accountId } = scene
    const entry = await newEntry(scene)
    await entry.change({ date: LATER })
    await runUntil(DATE)
    expect(await listDue(accountId)).toEqual([])
    const kim = await newUser(accountId, 'kim')
    await setLeadTime(scene, 10_080)
    await entry.change({ userId: kim })
    await runUntil(before(LATER, defaultMinutes + 1))
    expect(await listDue(accountId)).toEqual([])
    await runUntil(before(LATER, defaultMinutes))
    expect(await listDue(accountId)).toMatchObject([{ data: { user_id: kim, date: LATER } }])
  })

  test('has no event when it is cancelled, done or erased', async () => {
    const scenes = await Promise.all([newScene(), newScene(), newScene()])
    const [cancelled, done, erased] = scenes
    await (await newEntry(cancelled)).cancel()
    await (await newEntry(done)).change({ done: true })
    await newEntry(erased)
    await service.leads.eraseLead(erased)
    expect(await Promise.all(scenes.map(({ accountId }) => countRows(accountId)))).toEqual([0, 0, 0])
    await runUntil(END)
    for (const { accountId } of scenes) expect(await listDue(accountId)).toEqual([])
  })

  test('gets its event again when it is opened again, but not twice for the same date', async () => {
    const scene = await newScene()
    const { accountId } = scene
    const entry = await newEntry(scene)
    for (const done of [true, false]) await entry.change({ done })
    await runUntil(DATE)
    expect(await listDueDates(accountId)).toEqual([DATE])
    await setLeadTime(scene, 0)
    for (const done of [true, false]) await entry.change({ done })
    expect(await countRows(accountId)).toBe(0)
    await entry.change({ date: LATER })
    await runUntil(LATER)
    expect(await listDueDates(accountId)).toEqual([DATE, LATER])
  })

  test('a changed lead time applies to entries that are set afterwards', async () => {
    const scene = await newScene()
    const { accountId } = scene
    const first = await newEntry(scene)
    await setLeadTime(scene, 120)
    const second = await newEntry(scene)
    await runUntil(before(DATE, 120))
    expect((await listDue(accountId)).map(({ data }) => data.id)).toEqual([second.data.id])
    await runUntil(before(DATE, defaultMinutes))
    expect((await listDue(accountId)).map(({ data }) => data.id)).toEqual([second.data.id, first.data.id])
  })

  test('with remind, the user who is assigned then gets a reminder', async () => {
    const scene = await newScene()
    const { accountId, reference } = scene
    const kim = await newUser(accountId, 'kim')
    const reminded = await newEntry(scene, { remind: true })
    const changed = await newEntry(scene)
    const dropped = await newEntry(scene, { remind: true })
    const { body } = await changed.change({ remind: true, userId: kim })
    expect(JSON.parse(body.toString()).data).toMatchObject({ remind: true, user_id: kim })
    await dropped.change({ remind: false })
    await runUntil(DATE)
    const notifications = await readPayloads(accountId, (type) => type === 'notification.requested')
    const expected = (entryId: number, userEmail: string) =>
      expect.objectContaining({
        subject: `${kind}.due`,
        entryId,
        userEmail,
        date: DATE,
        leadReference: reference,
        customerName: 'Ada Byron',
        invitationId: undefined,
      })
    const reminders = notifications.map((payload) => NotificationRequested.decode(payload))
    expect(reminders.toSorted((a, b) => a.entryId! - b.entryId!)).toEqual([
      expected(reminded.data.id, 'sam@example.test'),
      expected(changed.data.id, 'kim@example.test'),
    ])
    // A change of `remind` alone is no change of the lead.
    const { items } = await service.leads.listLeadHistory({ accountId, reference })
    expect(JSON.parse(items.toString()).map(({ version }: { version: number }) => version)).toEqual([2, 1])
  })

  test('that an earlier release has changed gets the event of its new date, or none', async () => {
    const scene = await newScene()
    const { accountId } = scene
    const moved = await newEntry(scene)
    const cancelled = await newEntry(scene)
    const change = (set: string, id: number) =>
      service.db.query({
        text: `UPDATE ${kind}s SET ${set} WHERE account_id = $1 AND id = $2`,
        values: [accountId, id],
      })
    await change(`date = '${LATER}'`, moved.data.id)
    await change('cancelled_at = now()', cancelled.data.id)
    await runUntil(DATE)
    expect([await listDue(accountId), await countRows(accountId)]).toEqual([[], 1])
    await runUntil(LATER)
    expect(await listDueDates(accountId)).toEqual([LATER])
  })
})

/** Returns a database that runs `act` at the end of each transaction, before the commit. */
const beforeCommit = (act: () => Promise<void>): Database => ({
  ...service.db,
  transaction: <Result>(work: (tx: OpenTransaction) => Promise<Result>) =>
    service.db.transaction(async (tx) => {
      const result = await work(tx)
      await act()
      return result
    }),
})

/** Adds callbacks with due events, one on each minute before DATE, as `setDueEvent` would. */
const addCallbacks = async ({ accountId, leadId, userId }: Scene, count: number) => {
  await service.db.query({
    text: `INSERT INTO callbacks (account_id, lead_id, user_id, date, notify, invitation_id)
      SELECT $1, $2, $3, $4::timestamptz - n * interval '1 minute', false, gen_random_uuid()
      FROM generate_series(1, $5::int) n`,
    values: [accountId, leadId, userId, DATE, count],
  })
  await service.db.query({
    text: `INSERT INTO due_events (account_id, kind, entry_id, lead_id, date, due_at)
      SELECT account_id, 'callback', id, lead_id, date, date FROM callbacks WHERE account_id = $1`,
    values: [accountId],
  })
}

test('several processes record each event once', async () => {
  const scenes = await Promise.all(Array.from({ length: 20 }, newScene))
  for (const scene of scenes) await addCallbacks(scene, 40)
  const runRounds = async () => {
    const runRound = createProcess()
    while ((await runRound(DATE)) !== false);
  }
  await Promise.all([1, 2, 3, 4].map(runRounds))
  for (const { accountId } of scenes) {
    const dates = await listDueDates(accountId)
    expect([dates.length, new Set(dates).size]).toEqual([40, 40])
  }
})

test('an account with thousands of due events does not delay the others', async () => {
  const [large, ...others] = await Promise.all(Array.from({ length: 6 }, newScene))
  await addCallbacks(large!, 3000)
  for (const scene of others) {
    const callback = { ...scene, date: DATE, notify: false }
    await service.leads.scheduleCallback({ callback })
  }
  const runRound = createProcess()
  expect(await runRound(DATE)).toBe(true)
  for (const { accountId } of others) expect(await listDueDates(accountId)).toEqual([DATE])
  const first = await listDue(large!.accountId)
  expect(first.length).toBeLessThanOrEqual(500)
  while ((await runRound(DATE)) === true);
  expect(await listDue(large!.accountId)).toHaveLength(3000)
})

test('an event waits while its lead is being changed, and delays no other event', async () => {
  const [changed, other] = [await newScene(), await newScene()]
  for (const scene of [changed, other]) await addCallbacks(scene, 1)
  const [held, ended] = [gate(), gate()]
  const holding = service.db.transaction(async (tx) => {
    await tx.query({
      text: 'SELECT id FROM leads WHERE account_id = $1 FOR NO KEY UPDATE',
      values: [changed.accountId],
    })
    held.open()
    await ended.opened
  })
  await held.opened
  const runRound = createProcess()
  expect(await runRound(DATE)).toBe(true)
  expect(await runRound(DATE)).toBe('pause')
  expect(await listDue(other.accountId)).toHaveLength(1)
  expect(await listDue(changed.accountId)).toEqual([])
  ended.open()
  await holding
  expect(await runRound(DATE)).toBe(true)
  expect(await listDue(changed.accountId)).toHaveLength(1)
})

test('a change of an entry waits until its event is recorded', async () => {
  const scene = await newScene()
  const { accountId, reference } = scene
  await service.leads.scheduleCallback({ callback: { ...scene, date: DATE, notify: false } })
  const [recorded, ended] = [gate(), gate()]
  // Records the event in a transaction that commits only when the spec has seen that the change waits.
  const database = beforeCommit(async () => {
    recorded.open()
    await ended.opened
  })
  const round = createRecordDueEvents({ database, onCommitted: () => undefined })(DATE)
  await recorded.opened
  const [{ id }] = (await service.db.query<{ id: number }>({
    text: 'SELECT id FROM callbacks WHERE account_id = $1',
    values: [accountId],
  })) as [{ id: number }]
  const cancelling = service.leads.cancelCallback({ change: { accountId, reference, id, notify: false } })
  await eventually(async () => expect(await lockWaiters(service)).toBeGreaterThan(0))
  ended.open()
  await Promise.all([round, cancelling])
  const types = await service.db.query<{ type: string }>({
    text: `SELECT type FROM outbox WHERE account_id = $1 AND type LIKE 'callback.%' ORDER BY created_at`,
    values: [accountId],
  })
  expect(types.map(({ type }) => type)).toEqual(['callback.scheduled', 'callback.due', 'callback.cancelled'])
})

test('a failed round leaves its events to the next process', async () => {
  const scene = await newScene()
  await addCallbacks(scene, 3)
  const failing = beforeCommit(() => Promise.reject(new Error('the process dies')))
  const round = createRecordDueEvents({ database: failing, onCommitted: () => undefined })(DATE)
  await expect(round).rejects.toThrow('the process dies')
  expect([await listDue(scene.accountId), await countRows(scene.accountId)]).toEqual([[], 3])
  await runUntil(DATE)
  expect(await listDue(scene.accountId)).toHaveLength(3)
})

test('the rows of a lead are deleted with the lead, also by a release without this table', async () => {
  const scene = await newScene()
  const { accountId } = scene
  await addCallbacks(scene, 2)
  for (const table of ['changed_leads', 'callbacks', 'leads'])
    await service.db.query({ text: `DELETE FROM ${table} WHERE account_id = $1`, values: [accountId] })
  expect(await countRows(accountId)).toBe(0)
})
