import { eventually } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

interface Logged {
  id: string
  type: string
  sequence: number
  lead_reference: string
  lead_version: number
  erased: boolean
  body: unknown
}

interface Receipt {
  status: string
  receivers:
    | { endpoint_id: number; delivery_id: number; status: string; delivered_at: string | null }[]
    | null
}

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(() => stage?.stop())

const SUBSCRIBED = { events: ['lead.created', 'lead.updated', 'lead.erased'] }

const logOf = async (reference: string): Promise<Logged[]> => {
  const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
  return json.data.filter(({ lead_reference }) => lead_reference === reference)
}

const erase = (reference: string) => tenant.send<Receipt>('POST', `/manage/leads/${reference}/erase`)

const receiptOf = (reference: string) => tenant.send<Receipt>('GET', `/manage/leads/${reference}/erasure`)

/** The log of an erased lead, when it ends with the erasure. */
const finishedLog = (reference: string) =>
  eventually(
    async () => {
      const log = await logOf(reference)
      expect(log.filter(({ type }) => type === 'lead.erased')).toHaveLength(1)
      expect(log.at(-1)).toMatchObject({ type: 'lead.erased', erased: false })
      expect(log.slice(0, -1).filter(({ erased, body }) => !erased || body !== null)).toEqual([])
      return log
    },
    { timeoutMs: 40_000 },
  )

test('an erasure is the last event of its lead, and its receipt shows who confirmed it', async () => {
  const confirming = await tenant.listen(SUBSCRIBED)
  const held = await tenant.listen({ ...SUBSCRIBED, events: ['lead.erased'], enabled: false })
  const other = await tenant.listen()
  const { reference } = await tenant.createLead()
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  expect((await erase(reference)).receivers).toBeNull()

  const log = await finishedLog(reference)
  const body = { type: 'lead.erased', data: { reference } }
  expect(log.at(-1)).toMatchObject({ body, lead_version: 3 })
  await eventually(
    async () => {
      expect((await receiptOf(reference)).receivers).toEqual([
        {
          ...{ endpoint_id: confirming.id, delivery_id: expect.any(Number) },
          ...{ status: 'delivered', delivered_at: expect.stringMatching(/^2.*Z$/) },
        },
        { endpoint_id: held.id, delivery_id: expect.any(Number), status: 'held', delivered_at: null },
      ])
    },
    { timeoutMs: 40_000 },
  )
  const last = confirming.receiver.requests.at(-1)!
  expect(JSON.parse(last.body.toString())).toEqual(body)
  expect(last.headers).toMatchObject({
    'webhook-sequence': String(log.at(-1)!.sequence),
    'webhook-lead-version': '3',
  })
  expect(held.receiver.requests).toEqual([])

  const [delivery] = (await receiptOf(reference)).receivers!
  const retried = await tenant.client.request('POST', `/manage/deliveries/${delivery!.delivery_id}/retry`)
  expect(retried.status).toBe(200)
  const { json } = await tenant.client.request<{ data: { id: number; event: string }[] }>(
    'GET',
    `/manage/deliveries?lead_reference=${reference}&endpoint_id=${other.id}`,
  )
  for (const { id } of json.data)
    expect((await tenant.client.request('POST', `/manage/deliveries/${id}/retry`)).status).toBe(409)
  await tenant.client.request('PATCH', `/manage/webhook-endpoints/${held.id}`, { json: { enabled: true } })
  await eventually(() => expect(held.receiver.requests).toHaveLength(1), { timeoutMs: 20_000 })
  await erase(reference)
  expect(await logOf(reference)).toEqual(log)
}, 120_000)

test('leads that are erased the moment they were created: nothing of them is sent after the erasure', async () => {
  const { receiver } = await tenant.listen(SUBSCRIBED)
  const created = await Promise.all(Array.from({ length: 20 }, () => tenant.createLead()))
  const references = created.map(({ reference }) => reference)
  await Promise.all(references.map(erase))
  for (const reference of references) await finishedLog(reference)
  const sent = receiver.requests.map(({ body }) => JSON.parse(body.toString()))
  for (const reference of references) {
    const types = sent
      .filter(({ data }) => data.reference === reference)
      .map(({ type = 'lead.created' }) => type as string)
    expect(['lead.erased', 'lead.created,lead.erased']).toContain(types.join())
  }
}, 120_000)

test('an erasure whose services are killed is reported once, behind the events before it', async () => {
  const { system } = stage
  await system.kill('webhook-service')
  const { reference } = await tenant.createLead()
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'sold' } })
  await erase(reference)
  await system.kill('leads-service')
  await system.restart('leads-service')
  await system.restart('webhook-service')
  await finishedLog(reference)
  await system.kill('leads-service')
  await system.restart('leads-service')
  await eventually(async () => {
    expect(await receiptOf(reference)).toMatchObject({ status: 'done', receivers: [] })
  })
  expect((await logOf(reference)).filter(({ type }) => type === 'lead.erased')).toHaveLength(1)
}, 120_000)
