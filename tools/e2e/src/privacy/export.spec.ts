import { eventually } from '@leadwire/test-kit'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../stage.fixture'

interface Exported {
  lead: { reference: string }
  history: object[]
  webhooks: { deliveries: { attempts: object[] }[] }[]
  complete: boolean
  [list: string]: unknown
}

interface Page {
  data: Exported[]
  next_cursor: string | null
  errors?: object
}

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage?.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const personPage = (query: Record<string, string>, of = tenant) =>
  of.client.request<Page>('GET', `/manage/persons/export?${new URLSearchParams(query)}`)

const leadsOf = async (query: Record<string, string>, of = tenant) => {
  const { status, json } = await personPage(query, of)
  expect(status).toBe(200)
  return json.data.map(({ lead }) => lead.reference)
}

// Events that nobody subscribed to are held without a body.
/** Events without a subscriber, newest first. They keep their bodies. */
const UNSENT = ['lead.updated', 'attachment.added', 'callback.scheduled', 'appointment.scheduled'].map(
  (type) => ({
    body: { type },
    deliveries: [],
  }),
)

test('the export of a lead has everything that is stored of it', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith({ status: 200, body: 'thank you' })
  const user = { email: 'sam@example.com', name: 'Sam' }
  const { id: user_id } = await tenant.send<{ id: number }>('POST', '/manage/users', { json: user })
  const { reference } = await tenant.createLead()
  const path = `/leads/${reference}`
  const entry = { user_id, notify: true, date: '24/12/2026 14:30' }
  const appointment = await tenant.send('POST', `${path}/appointments`, { json: entry })
  const callback = await tenant.send('POST', `${path}/callbacks`, { json: { ...entry, notify: false } })
  const attachment = await tenant.send('POST', `${path}/attachments`, {
    multipart: [
      { name: 'name', value: 'Survey' },
      { name: 'file', value: 'of the house', fileName: 'survey.txt' },
    ],
  })
  await tenant.send('PATCH', path, { json: { status: 'sold' } })
  const whole = await eventually(async () => {
    const exported = await tenant.send<Exported>('GET', `/manage${path}/export`)
    expect(exported).toMatchObject({
      webhooks: [
        ...UNSENT,
        { deliveries: [{ status: 'delivered', attempts: [{ number: 1, response: 'thank you' }] }] },
      ],
      notifications: [{ deliveries: [{ status: 'delivered' }] }],
    })
    return exported
  })
  expect(whole).toMatchObject({
    lead: await tenant.send('GET', path),
    history: await tenant.send('GET', `/manage${path}/history`),
    appointments: [appointment],
    callbacks: [callback],
    attachments: [attachment],
    webhooks: [...UNSENT, { body: JSON.parse(receiver.requests[0]!.body.toString()) }],
    notifications: [{ body: { subject: 'appointment', customer_email: LEAD.email, user_email: user.email } }],
    complete: true,
  })
  expect((await (await stage.newTenant()).client.request('GET', `/manage${path}/export`)).status).toBe(404)
})

test('the leads of a person are found by e-mail and by telephone, whatever their spelling, and only in the account', async () => {
  const one = await tenant.createLead({ email: 'Ada@Example.com' })
  const two = await tenant.createLead({ email: 'other@example.com', mobile: '07700 900 461' })
  const three = await tenant.createLead({
    email: 'ada@example.com',
    phone: '07700900461',
    mobile: '07700900461',
  })
  const other = await stage.newTenant()
  await other.createLead({ email: 'ada@example.com', phone: '07700900461' })
  expect(await leadsOf({ email: 'ADA@example.com' })).toEqual([three.reference, one.reference])
  expect(await leadsOf({ phone: '+44 7700 900461' })).toEqual([three.reference, two.reference])
  expect(await leadsOf({ email: 'nobody@example.com' })).toEqual([])
  expect(await leadsOf({ email: 'ada@example.com' }, other)).toHaveLength(1)
})

test('many leads of a person come answer by answer, none twice', async () => {
  const made = []
  for (let count = 0; count < 23; count += 1) made.unshift((await tenant.createLead()).reference)
  const first = await personPage({ email: LEAD.email })
  expect(first.json.data).toHaveLength(20)
  const second = await personPage({ email: LEAD.email, cursor: first.json.next_cursor! })
  expect(second.json.next_cursor).toBeNull()
  const all = [...first.json.data, ...second.json.data].map(({ lead }) => lead.reference)
  expect(all).toEqual(made)
})

test.each([
  [{}, 'email'],
  [{ email: 'ada@example.com', phone: '07700900461' }, 'email'],
  [{ email: 'ada' }, 'email'],
  [{ phone: 'none' }, 'phone'],
  [{ email: 'ada@example.com', cursor: '0' }, 'cursor'],
])('%j asks for nobody: 422', async (query, field) => {
  const { status, json } = await personPage(query as Record<string, string>)
  expect([status, Object.keys(json.errors ?? {})]).toEqual([422, [field]])
})
