import { Event } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const scene = async (over = {}) => {
  const account = await newAccount(service)
  const { accountId } = account
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const items = [newItem(accountId, { lead: newLead(over) })]
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: items }))
  return { ...account, userId: user!.id, lead, of: { accountId, reference: lead.reference } }
}

const readChangeEvents = async (accountId: number) => {
  const rows = await service.db.query<{ event_id: string; payload: Buffer }>({
    text: `SELECT event_id, payload FROM outbox WHERE type NOT IN ('lead.created', 'notification.requested') AND account_id = $1 ORDER BY created_at`,
    values: [accountId],
  })
  return rows.map(({ event_id, payload }) => {
    const { body, ...change } = Event.decode(payload)
    expect(change.eventId).toBe(event_id)
    return { ...change, body: JSON.parse(body.toString()) }
  })
}

const parseData = ({ body }: { body: Uint8Array }) => JSON.parse(Buffer.from(body).toString()).data

const MATCH = { status: 'open', referrer: 'Website', postcode: 'SW1A 1AA' }

test('an update is reported with the lead as a list shows it and what changed; one that changes nothing is not', async () => {
  const { of, lead, apiKey, userId } = await scene()
  await service.leads.updateLead({ ...of, status: 'open', notify: false })
  const after = parseData(
    await service.leads.updateLead({ ...of, status: 'sold', userEmail: 'sam@example.test', notify: false }),
  )
  const { customer: _, quotes: __, ...item } = after
  expect(await readChangeEvents(of.accountId)).toEqual([
    {
      eventId: expect.any(String),
      accountId: of.accountId,
      accountKey: apiKey,
      type: 'lead.updated',
      leadReference: lead.reference,
      leadVersion: 2,
      test: false,
      traceparent: '',
      createdAt: after.updated_at,
      match: { ...MATCH, status: 'sold', userEmail: 'sam@example.test' },
      body: {
        type: 'lead.updated',
        data: {
          ...item,
          changes: [
            { field: 'status', from: 'open', to: 'sold' },
            { field: 'user', from: null, to: { id: userId, email: 'sam@example.test' } },
          ],
        },
      },
    },
  ])
})

test('appointments, callbacks and attachments are reported as they are answered', async () => {
  const { of, apiKey, lead, userId } = await scene({ test: true })
  const entry = { ...of, userId, notify: false, date: '2026-03-28T09:30:00Z', idempotency: undefined }
  const appointment = parseData(await service.leads.scheduleAppointment({ appointment: entry }))
  const callback = parseData(await service.leads.scheduleCallback({ callback: entry }))
  const attachment = parseData(
    await service.attachments.attachFile({
      ...of,
      file: { key: 'k', name: 'n', fileName: 'n.pdf', fileSize: 1, contentType: 'application/pdf' },
      baseUrl: 'https://api.example.test',
      idempotency: undefined,
    }),
  )
  const common = {
    eventId: expect.any(String),
    accountId: of.accountId,
    accountKey: apiKey,
    leadReference: lead.reference,
    leadVersion: 1,
    test: true,
    traceparent: '',
    match: MATCH,
  }
  const change = (type: string, data: { created_at: string }) => ({
    ...common,
    type,
    createdAt: data.created_at,
    body: { type, data },
  })
  expect(await readChangeEvents(of.accountId)).toEqual([
    change('appointment.scheduled', appointment),
    change('callback.scheduled', callback),
    change('attachment.added', { ...attachment, lead_reference: lead.reference }),
  ])
})

test('what changed is published from memory when it is committed', async () => {
  const { of, userId } = await scene()
  const entry = { ...of, userId, notify: true, date: '2026-03-28T09:30:00Z', idempotency: undefined }
  service.committed.length = 0
  await service.leads.updateLead({ ...of, status: 'sold', notify: false })
  await service.leads.scheduleCallback({ callback: entry })
  expect(service.committed.map(({ type }) => type)).toEqual([
    'lead.updated',
    'notification.requested',
    'callback.scheduled',
  ])
})

test('what is refused tells nothing', async () => {
  const { of } = await scene()
  await expect(
    service.leads.updateLead({ ...of, value: 1, ifMatch: { etags: ['"0-0"'] }, notify: false }),
  ).rejects.toMatchObject({ code: 'precondition_failed' })
  expect(await readChangeEvents(of.accountId)).toEqual([])
})
