import { eventually } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const CHANGES = ['lead.updated', 'appointment.scheduled', 'callback.scheduled', 'attachment.added']

test('what happens to a lead is told to who subscribes, by the API’s own words', async () => {
  const all = await tenant.listen({ events: CHANGES })
  const ordinary = await tenant.listen()
  const { id: userId } = await tenant.send<{ id: number }>('POST', '/manage/users', {
    json: { email: 'sam@example.com', name: 'Sam' },
  })
  const { reference } = await tenant.createLead()
  const {
    customer: _,
    quotes: __,
    ...updated
  } = await tenant.send<Record<string, unknown>>('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  const entry = { user_id: userId, notify: false, date: '24/12/2026 14:30' }
  const appointment = await tenant.send('POST', `/leads/${reference}/appointments`, { json: entry })
  const callback = await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry })
  const attachment = await tenant.send<object>('POST', `/leads/${reference}/attachments`, {
    multipart: [
      { name: 'name', value: 'Notes' },
      { name: 'file', value: 'notes', fileName: 'notes.txt', type: 'text/plain' },
    ],
  })

  await eventually(() => expect(all.receiver.requests).toHaveLength(4))
  const told = all.receiver.requests.map(({ body }) => JSON.parse(body.toString()))
  const byType = (type: string) => told.find((each) => each.type === type)
  expect(CHANGES.map(byType)).toEqual([
    {
      type: 'lead.updated',
      data: { ...updated, changes: [{ field: 'status', from: 'open', to: 'sold' }] },
    },
    { type: 'appointment.scheduled', data: appointment },
    { type: 'callback.scheduled', data: callback },
    { type: 'attachment.added', data: { ...attachment, lead_reference: reference } },
  ])
  const orders = all.receiver.requests.map(({ headers }) => [
    Number(headers['webhook-sequence']),
    headers['webhook-lead-version'],
  ])
  // The first number is that of the lead's creation.
  expect(orders.toSorted()).toEqual([2, 3, 4, 5].map((number) => [number, '2']))
  await eventually(() => expect(ordinary.receiver.requests).toHaveLength(1))
  expect(Object.keys(JSON.parse(ordinary.receiver.requests[0]!.body.toString()))).toEqual(['data'])

  const { json } = await tenant.client.request<{ data: { event: string; endpoint_id: number }[] }>(
    'GET',
    `/manage/deliveries?lead_reference=${reference}`,
  )
  const events = json.data.filter(({ endpoint_id }) => endpoint_id === all.id).map(({ event }) => event)
  expect(events.toSorted()).toEqual(CHANGES.toSorted())
})

test('nothing of it stays in the outbox, though nobody subscribes', async () => {
  const lonely = await stage.newTenant()
  const { reference } = await lonely.createLead()
  await lonely.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  const database = new Database({ connectionString: stage.system.databases.leads.url })
  await database.connect()
  try {
    await eventually(async () => {
      const { rows } = await database.query('SELECT FROM outbox WHERE lead_reference = $1', [reference])
      expect(rows).toEqual([])
    })
  } finally {
    await database.end()
  }
})
