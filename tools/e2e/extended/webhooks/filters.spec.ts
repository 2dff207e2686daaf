import { randomUUID } from 'node:crypto'
import { eventually, type Receiver } from '@leadwire/test-kit'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())

interface Endpoint {
  id: number
  filter: object | null
}

const ENDPOINTS = '/manage/webhook-endpoints'

const newUser = (tenant: Tenant, email: string) =>
  tenant.send<{ id: number }>('POST', '/manage/users', { json: { email, name: 'Sam' } })

const update = (tenant: Tenant, { id }: { id: number }, json: object) =>
  tenant.send<Endpoint>('PATCH', `${ENDPOINTS}/${id}`, { json })

/** Returns the type of each event that a receiver got, and the name of the lead if the event contains it. */
const arrivals = ({ requests }: Receiver) =>
  requests
    .map(({ body }) => JSON.parse(body.toString()) as { type?: string; data: { name?: string } })
    .map(({ type = 'lead.created', data }) => [type, data.name])
    .toSorted()

const names = (receiver: Receiver) => arrivals(receiver).map(([, name]) => name)

test('a filter compares the lead after the change', async () => {
  const tenant = await stage.newTenant()
  const { id: user_id } = await newUser(tenant, 'sam@example.com')
  const events = ['lead.created', 'lead.updated', 'appointment.scheduled', 'attachment.added']
  const [all, sold, sams] = [
    await tenant.listen({ events }),
    await tenant.listen({ events, filter: { status: ['sold'] } }),
    await tenant.listen({ events, filter: { user_email: ['sam@example.com'] } }),
  ]
  const { reference } = await tenant.createLead({ name: 'a' })
  const path = `/leads/${reference}`
  const change = (json: object) => tenant.send('PATCH', path, { json })
  await change({ status: 'sold' })
  await change({ user_email: 'SAM@example.com' })
  const entry = { user_id, notify: false, date: '24/12/2026 14:30' }
  await tenant.send('POST', `${path}/appointments`, { json: entry })
  await change({ status: 'lost' })
  const multipart = [
    { name: 'name', value: 'Note' },
    { name: 'file', value: 'text', fileName: 'note.txt' },
  ]
  await tenant.send('POST', `${path}/attachments`, { multipart })
  await eventually(() => {
    expect(all.receiver.requests).toHaveLength(6)
    expect(arrivals(sold.receiver).map(([type]) => type)).toEqual([
      'appointment.scheduled',
      'lead.updated',
      'lead.updated',
    ])
    expect(arrivals(sams.receiver).map(([type]) => type)).toEqual([
      'appointment.scheduled',
      'attachment.added',
      'lead.updated',
      'lead.updated',
    ])
  })
})

test('a filter is shown, replaced and removed; a change applies to later events', async () => {
  const tenant = await stage.newTenant()
  const all = await tenant.listen()
  const endpoint = await tenant.listen({ filter: { status: ['sold'], postcode: ['sw1a1', 'SW1A 1'] } })
  const { receiver, id } = endpoint
  const shown = { status: ['sold'], postcode: ['SW1A 1'] }
  const read = async () => (await tenant.send<Endpoint>('GET', `${ENDPOINTS}/${id}`)).filter
  expect(await read()).toEqual(shown)
  expect(await tenant.send<Endpoint[]>('GET', ENDPOINTS)).toMatchObject([{ filter: null }, { filter: shown }])
  await tenant.createLead({ name: 'left out' })
  await eventually(() => expect(all.receiver.requests).toHaveLength(1))
  expect(await update(tenant, endpoint, { enabled: true })).toMatchObject({ filter: shown })
  const form = { filter: '' }
  expect(await tenant.send('PATCH', `${ENDPOINTS}/${id}`, { form })).toMatchObject({ filter: shown })
  const replaced = { user_email: ['sam@example.com'], referrer: ['Direct'] }
  expect((await update(tenant, endpoint, { filter: replaced })).filter).toEqual(replaced)
  expect((await update(tenant, endpoint, { filter: { status: ['open'] } })).filter).toEqual({
    status: ['open'],
  })
  await tenant.createLead({ name: 'open' })
  await eventually(() => expect(names(receiver)).toEqual(['open']))
  expect((await update(tenant, endpoint, { filter: {} })).filter).toBeNull()
  await update(tenant, endpoint, { filter: replaced })
  expect((await update(tenant, endpoint, { filter: null })).filter).toBeNull()
  await tenant.createLead({ name: 'lost', status: 'lost' })
  await eventually(() => expect(names(receiver)).toEqual(['lost', 'open']))
  const { data } = (await tenant.client.request<{ data: { changes: object }[] }>('GET', '/manage/audit')).json
  expect(data[0]!.changes).toEqual({ filter: { from: replaced, to: null } })
})

const many = (value: (index: number) => string) => Array.from({ length: 101 }, (_, index) => value(index))

test.each<[unknown, string]>([
  ['open', 'filter'],
  [{ colour: ['red'] }, 'filter.colour'],
  [['open'], 'filter'],
  [{ status: [] }, 'filter.status'],
  [{ status: 'open' }, 'filter.status'],
  [{ status: ['open', 'asleep'] }, 'filter.status.1'],
  [{ referrer: ['Newspaper'] }, 'filter.referrer.0'],
  [{ postcode: [] }, 'filter.postcode'],
  [{ postcode: ['1AA'] }, 'filter.postcode.0'],
  [{ postcode: ['SW1A 1AA 1AA'] }, 'filter.postcode.0'],
  [{ postcode: [7] }, 'filter.postcode.0'],
  [{ postcode: many((index) => `M${index % 10}`) }, 'filter.postcode'],
  [{ user_email: ['sam'] }, 'filter.user_email.0'],
  [{ user_email: [null] }, 'filter.user_email.0'],
  [{ user_email: [`${'a'.repeat(64)}@${'b.'.repeat(120)}example`] }, 'filter.user_email.0'],
  [{ user_email: many((index) => `${index}@a.example`) }, 'filter.user_email'],
])('the filter %j gets 422', async (filter, field) => {
  const tenant = await stage.newTenant()
  const { id } = await tenant.listen()
  const refused = { status: 422, json: { errors: { [field]: expect.any(Array) } } }
  const url = 'https://crm.example.com/'
  expect(await tenant.client.request('POST', ENDPOINTS, { json: { url, filter } })).toMatchObject(refused)
  expect(await tenant.client.request('PATCH', `${ENDPOINTS}/${id}`, { json: { filter } })).toMatchObject(
    refused,
  )
})

test('a test send reports whether the current lead passes the filter', async () => {
  const [tenant, other] = [await stage.newTenant(), await stage.newTenant()]
  await newUser(tenant, 'sam@example.com')
  const filter = { status: ['open'], postcode: ['SW1A'], user_email: ['sam@example.com'] }
  const { id, receiver } = await tenant.listen({ filter })
  const { id: unfiltered } = await tenant.listen()
  const send = (endpointId: number, json: object) =>
    tenant.client.request<{ data: object; errors: object }>('POST', `${ENDPOINTS}/${endpointId}/test`, {
      json,
    })
  const { reference } = await tenant.createLead({ status: 'sold' })
  expect((await send(id, {})).json.data).toMatchObject({ status: 'delivered', filter: null })
  const failing = await send(id, { lead_reference: reference.toUpperCase() })
  expect(failing.json.data).toMatchObject({
    status: 'delivered',
    event: 'lead.created',
    attempt: { status: 200 },
    filter: { passes: false, failed: ['status', 'user_email'] },
  })
  await tenant.send('PATCH', `/leads/${reference}`, {
    json: { status: 'open', user_email: 'sam@example.com' },
  })
  const passing = { filter: { passes: true, failed: [] } }
  const type = 'lead.updated'
  expect((await send(id, { lead_reference: reference, type })).json.data).toMatchObject({
    event: type,
    ...passing,
  })
  expect((await send(unfiltered, { lead_reference: reference })).json.data).toMatchObject(passing)
  // The receiver got only the samples, because each event of the lead has another type or did not pass the
  // filter.
  expect(receiver.requests).toHaveLength(3)

  for (const lead_reference of [(await other.createLead()).reference, randomUUID(), 'nonsense'])
    expect(await send(id, { lead_reference })).toMatchObject({
      status: 422,
      json: { errors: { lead_reference: [expect.any(String)] } },
    })
  expect(await send(987_654, { lead_reference: randomUUID() })).toMatchObject({ status: 404 })
  expect(await send(987_654, { lead_reference: 'nonsense' })).toMatchObject({ status: 404 })
  await tenant.client.request('POST', `/manage/leads/${reference}/erase`)
  expect(await send(id, { lead_reference: reference })).toMatchObject({ status: 409 })
})
