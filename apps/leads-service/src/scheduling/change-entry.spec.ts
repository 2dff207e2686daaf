import { Event, NotificationRequested } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const newUser = async (accountId: number, name: string) => {
  const email = `${name}@example.test`
  return (await service.accounts.createUser({ accountId, email, name })).user!.id
}

/** Reads the parked events of an account. Returns notifications separately. */
const readParkedEvents = async (accountId: number) => {
  const rows = await service.db.query<{ type: string; payload: Buffer }>({
    text: `SELECT type, payload FROM outbox WHERE account_id = $1 AND next_check_at IS NULL ORDER BY created_at, type`,
    values: [accountId],
  })
  const events = rows.filter(({ type }) => type !== 'notification.requested')
  const notifications = rows.filter(({ type }) => type === 'notification.requested')
  return {
    events: events.map(({ payload }) => Event.decode(payload)),
    notifications: notifications.map(({ payload }) => NotificationRequested.decode(payload)),
  }
}

test('an erasure cancels open and future entries: records, events and invitations, without a word of the person', async () => {
  const { accountId } = await newAccount(service)
  const userId = await newUser(accountId, 'sam')
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const { reference } = lead
  const asked = { accountId, reference, userId, idempotency: undefined }
  const ahead = { ...asked, date: '2199-03-28T09:30:00Z' }
  const { body } = await service.leads.scheduleAppointment({ appointment: { ...ahead, notify: true } })
  const past = { ...asked, date: '2001-03-28T09:30:00Z' }
  await service.leads.scheduleAppointment({ appointment: { ...past, notify: true } })
  const met = await service.leads.scheduleAppointment({ appointment: { ...past, notify: false } })
  await service.leads.rescheduleAppointment({
    change: { accountId, reference, id: JSON.parse(met.body.toString()).data.id, done: true },
  })
  await service.leads.scheduleCallback({ callback: { ...ahead, notify: false } })
  const { body: cancelled } = await service.leads.scheduleCallback({ callback: { ...ahead, notify: true } })
  const id: number = JSON.parse(cancelled.toString()).data.id
  await service.leads.cancelCallback({ change: { accountId, reference, id, notify: false } })
  const done = await service.leads.scheduleCallback({ callback: { ...ahead, notify: true } })
  const { id: doneId } = JSON.parse(done.body.toString()).data
  await service.leads.rescheduleCallback({ change: { accountId, reference, id: doneId, done: true } })
  await service.leads.eraseLead({ accountId, reference })

  const page = { accountId, reference, before: undefined }
  const cancelledAt = async (list: 'listAppointments' | 'listCallbacks') => {
    const { items } = await service.leads[list](page)
    return JSON.parse(items.toString()).map(
      ({ cancelled_at }: { cancelled_at: string | null }) => cancelled_at,
    )
  }
  expect(await cancelledAt('listAppointments')).toEqual([null, expect.any(String), expect.any(String)])
  expect(await cancelledAt('listCallbacks')).toEqual(Array(3).fill(expect.any(String)))

  const { events, notifications } = await readParkedEvents(accountId)
  expect(events.map(({ type, leadVersion }) => [type, leadVersion]).sort()).toEqual([
    ['appointment.cancelled', 5],
    ['appointment.cancelled', 5],
    ['callback.cancelled', 5],
    ['callback.cancelled', 5],
    ['lead.erased', 5],
  ])
  const { data } = JSON.parse(body.toString())
  const bodies = events.map((event) => ({ ...event, json: JSON.parse(Buffer.from(event.body).toString()) }))
  const appointment = bodies.find(({ json }) => json.data.id === data.id && json.data.date === data.date)!
  expect(appointment.json).toEqual({
    type: 'appointment.cancelled',
    data: { ...data, cancelled_at: expect.any(String), done_at: null, remind: false },
  })
  expect(appointment.match).toBeUndefined()
  expect(notifications).toMatchObject([
    {
      subject: 'appointment.cancelled',
      userId,
      sequence: 1,
      leadName: '',
      customerName: '',
      customerEmail: '',
    },
    { subject: 'appointment.cancelled', userId, customerName: '' },
    { subject: 'callback.cancelled', userId, customerName: '' },
  ])
})

const DATE = '2026-03-28T09:30:00Z'
const LATER = '2026-03-29T09:30:00Z'

interface Entry {
  id: number
  user_id: number
  date: string
  notify: boolean
  done_at: string | null
}

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

describe.each(['appointment', 'callback'] as const)('%s: done', (subject) => {
  const { schedule, change, cancel } = operations[subject]

  const newEntry = async () => {
    const { accountId } = await newAccount(service)
    const [userId, otherUserId] = [await newUser(accountId, 'sam'), await newUser(accountId, 'kim')]
    const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
    const { reference } = lead
    const read = async (response: Promise<{ body: Uint8Array }>): Promise<Entry> =>
      JSON.parse((await response).body.toString()).data
    const scheduled = await read(schedule({ accountId, reference, userId, date: DATE, notify: false }))
    const key = { accountId, reference, id: scheduled.id }
    return {
      accountId,
      otherUserId,
      entry: { ...scheduled, cancelled_at: null, done_at: null, remind: false },
      change: (fields: object) => read(change({ ...key, ...fields })),
      cancel: () => read(cancel(key)),
      listVersions: async () => {
        const { items } = await service.leads.listLeadHistory({ accountId, reference })
        return JSON.parse(items.toString()).map((one: { version: number; changes: object[] }) => [
          one.version,
          ...one.changes,
        ])
      },
      listEvents: async () => {
        const rows = await service.db.query<{ type: string }>({
          text: 'SELECT type FROM outbox WHERE account_id = $1 ORDER BY created_at, type',
          values: [accountId],
        })
        return rows.map(({ type }) => type)
      },
    }
  }

  test('is shown, is in the history, sends no event or message, and can be taken back', async () => {
    const { entry, listVersions, listEvents, ...on } = await newEntry()
    const done = await on.change({ done: true, notify: true })
    expect(done).toEqual({ ...entry, done_at: expect.stringMatching(/\.\d{6}Z$/) })
    expect(await on.change({ done: true })).toEqual(done)
    expect(await on.change({ notify: true })).toEqual(done)
    expect(await on.change({ done: false })).toEqual(entry)
    expect(await on.change({ done: false })).toEqual(entry)
    const [from, to] = [null, done.done_at].map((done_at) => ({
      id: entry.id,
      user_id: entry.user_id,
      date: entry.date,
      done_at,
    }))
    const [second, first] = await listVersions()
    expect(second).toEqual([3, { field: subject, from: to, to: from }])
    expect(first).toEqual([2, { field: subject, from, to }])
    expect(await listEvents()).toEqual(['lead.created', `${subject}.scheduled`])
  })

  test('refuses a new date, a new user and a cancellation', async () => {
    const { entry, listVersions, otherUserId, ...on } = await newEntry()
    const isRefused = (field: string) => ({ code: 'invalid', fieldErrors: { [field]: [expect.any(String)] } })
    await expect(on.change({ done: true, date: LATER })).rejects.toMatchObject(isRefused('done'))
    const done = await on.change({ done: true, date: DATE, userId: entry.user_id })
    for (const moved of [{ date: LATER }, { userId: otherUserId }, { done: true, date: LATER }])
      await expect(on.change(moved)).rejects.toMatchObject(isRefused('done'))
    await expect(on.cancel()).rejects.toMatchObject(isRefused('id'))
    expect(await on.change({})).toEqual(done)
    expect(await listVersions()).toHaveLength(2)
  })

  test('is left together with a new date, which is an event', async () => {
    const { entry, listEvents, ...on } = await newEntry()
    await on.change({ done: true })
    const moved = await on.change({ done: false, date: LATER, notify: true })
    expect(moved).toEqual({ ...entry, date: '2026-03-29T09:30:00.000000Z', notify: true })
    expect(await listEvents()).toEqual([
      'lead.created',
      `${subject}.scheduled`,
      'notification.requested',
      `${subject}.rescheduled`,
    ])
  })

  test('is refused for a cancelled entry', async () => {
    const { entry: _, ...on } = await newEntry()
    const cancelled = await on.cancel()
    for (const done of [true, false])
      await expect(on.change({ done })).rejects.toMatchObject({ fieldErrors: { id: [expect.any(String)] } })
    expect(await on.cancel()).toEqual(cancelled)
  })

  test('keeps the entry in the calendar of the user', async () => {
    const { accountId, entry, ...on } = await newEntry()
    await service.db.query({
      text: `UPDATE ${subject}s SET date = now() WHERE account_id = $1`,
      values: [accountId],
    })
    await on.change({ done: true })
    const { entries } = await service.leads.listCalendarEntries({ accountId, userId: entry.user_id })
    expect(entries).toMatchObject([{ subject, id: entry.id, sequence: 0 }])
  })
})
