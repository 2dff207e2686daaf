import { eventually } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../../support/stage'

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

const readLog = async (reference: string): Promise<Logged[]> => {
  const { json } = await tenant.client.request<{ data: Logged[] }>('GET', '/manage/events?limit=100')
  return json.data.filter(({ lead_reference }) => lead_reference === reference)
}

const erase = (reference: string) => tenant.send<Receipt>('POST', `/manage/leads/${reference}/erase`)

const retrieveReceipt = (reference: string) =>
  tenant.send<Receipt>('GET', `/manage/leads/${reference}/erasure`)

/** Waits until the log of an erased lead ends with the erasure, and returns the log. */
const finishedLog = (reference: string) =>
  eventually(async () => {
    const log = await readLog(reference)
    expect(log.filter(({ type }) => type === 'lead.erased')).toHaveLength(1)
    expect(log.at(-1)).toMatchObject({ type: 'lead.erased', erased: false })
    expect(log.slice(0, -1).filter(({ erased, body }) => !erased || body !== null)).toEqual([])
    return log
  })

test('nothing of a lead is sent after its erasure, even directly after its creation', async () => {
  const { receiver } = await tenant.listen(SUBSCRIBED)
  const created = await Promise.all(Array.from({ length: 20 }, () => tenant.createLead()))
  const references = created.map(({ reference }) => reference)
  // Retries, because a busy service may respond with 503.
  await Promise.all(references.map((reference) => eventually(() => erase(reference))))
  for (const reference of references) await finishedLog(reference)
  const listSent = (reference: string) =>
    receiver.requests
      .map(({ body }) => JSON.parse(body.toString()))
      .filter(({ data }) => data.reference === reference)
      .map(({ type = 'lead.created' }) => type as string)
  for (const reference of references) {
    // The event is in the log before its webhook arrives.
    await eventually(() => expect(listSent(reference)).toContain('lead.erased'))
    expect(['lead.erased', 'lead.created,lead.erased']).toContain(listSent(reference).join())
  }
}, 120_000)

test('an erasure is reported once and after the earlier events, although services are killed', async () => {
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
    expect(await retrieveReceipt(reference)).toMatchObject({ status: 'done', receivers: [] })
  })
  expect((await readLog(reference)).filter(({ type }) => type === 'lead.erased')).toHaveLength(1)
}, 120_000)
