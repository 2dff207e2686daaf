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

test('an erasure cancels what lies ahead: records, events and invitations, without a word of the person', async () => {
  const { accountId } = await newAccount(service)
  const userId = await newUser(accountId, 'sam')
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const { reference } = lead
  const asked = { accountId, reference, userId, idempotency: undefined }
  const ahead = { ...asked, date: '2199-03-28T09:30:00Z' }
  const { body } = await service.leads.scheduleAppointment({ appointment: { ...ahead, notify: true } })
  await service.leads.scheduleAppointment({
    appointment: { ...asked, date: '2001-03-28T09:30:00Z', notify: true },
  })
  await service.leads.scheduleCallback({ callback: { ...ahead, notify: false } })
  const { body: cancelled } = await service.leads.scheduleCallback({ callback: { ...ahead, notify: true } })
  const id: number = JSON.parse(cancelled.toString()).data.id
  await service.leads.cancelCallback({ change: { accountId, reference, id, notify: false } })
  await service.leads.eraseLead({ accountId, reference })

  const page = { accountId, reference, before: undefined }
  const cancelledAt = async (list: 'listAppointments' | 'listCallbacks') => {
    const { items } = await service.leads[list](page)
    return JSON.parse(items.toString()).map(
      ({ cancelled_at }: { cancelled_at: string | null }) => cancelled_at,
    )
  }
  expect(await cancelledAt('listAppointments')).toEqual([null, expect.any(String)])
  expect(await cancelledAt('listCallbacks')).toEqual([expect.any(String), expect.any(String)])

  const { events, notifications } = await readParkedEvents(accountId)
  expect(events.map(({ type, leadVersion }) => [type, leadVersion]).sort()).toEqual([
    ['appointment.cancelled', 3],
    ['callback.cancelled', 3],
    ['lead.erased', 3],
  ])
  const appointment = events.find(({ type }) => type === 'appointment.cancelled')!
  const { data } = JSON.parse(body.toString())
  expect(JSON.parse(Buffer.from(appointment.body).toString())).toEqual({
    type: 'appointment.cancelled',
    data: { ...data, cancelled_at: expect.any(String) },
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
  ])
})
