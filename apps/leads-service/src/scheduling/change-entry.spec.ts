import { NotificationRequested } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

// The previous release does not record invitations.
test('an invitation from before they were recorded is cancelled at the user who got it', async () => {
  const { accountId } = await newAccount(service)
  const [sam, kim] = await Promise.all(
    ['sam', 'kim'].map(async (name) => {
      const email = `${name}@example.test`
      return (await service.accounts.createUser({ accountId, email, name })).user!.id
    }),
  )
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const [entry] = await service.db.query<{ id: number }>({
    text: `INSERT INTO appointments (account_id, lead_id, user_id, date, notify)
      VALUES ($1, $2, $3, '2026-03-28T09:30:00Z', true) RETURNING id`,
    values: [accountId, lead.id, sam],
  })
  const change = { accountId, reference: lead.reference, id: entry!.id, date: undefined, userId: undefined }
  await service.leads.rescheduleAppointment({ change: { ...change, notify: false, userId: kim } })
  await service.leads.rescheduleAppointment({ change: { ...change, notify: true } })
  const rows = await service.db.query<{ payload: Buffer }>({
    text: `SELECT payload FROM outbox WHERE account_id = $1 AND type = 'notification.requested'`,
    values: [accountId],
  })
  const sent = rows.map(({ payload }) => NotificationRequested.decode(payload))
  const [first, second] = sent.toSorted((one, other) => other.subject.length - one.subject.length)
  expect(sent).toHaveLength(2)
  expect(first).toMatchObject({ subject: 'appointment.cancelled', userId: sam, sequence: 1 })
  expect(second).toMatchObject({ subject: 'appointment', userId: kim, sequence: 1 })
  expect(first!.invitationId).toBe(second!.invitationId)
})
