import { PassThrough } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { eventually } from '@leadwire/test-kit'
import { type Answer, createClient, multipartBody } from '../../support/client'
import { LEAD, type Lead, type Stage, startStage } from '../../support/stage'

const REQUESTS = 1000
const CLIENTS = 4

let stage: Stage
let clients: ReturnType<typeof createClient>[]
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())
afterEach(() => Promise.all(clients.map((client) => client.close())))

const mayAskAgain = ({ status, headers }: Answer) =>
  (status === 409 || status === 503) && Number(headers['retry-after']) >= 1

/** Repeats a request until its response is 200. */
const untilDone = async (ask: () => Promise<Answer>): Promise<Answer> => {
  for (;;) {
    const answer = await ask()
    if (answer.status === 200) return answer
    if (!mayAskAgain(answer)) throw new Error(`${answer.status}: ${answer.text}`)
    await pause(200)
  }
}

test.each([
  0, 1, 400,
])(`${REQUESTS} concurrent creates with one key create one lead and one event, if leads-service is killed after %i responses`, async (answers) => {
  const tenant = await stage.newTenant()
  const { receiver } = await tenant.listen()
  clients = Array.from({ length: CLIENTS }, () => createClient(stage.system.baseUrl, { token: tenant.token }))
  const headers = { 'idempotency-key': `killed after ${answers}` }
  const ask = (index: number) => clients[index % CLIENTS]!.request('POST', '/leads', { json: LEAD, headers })
  let answered = 0
  const first = Array.from({ length: REQUESTS }, (_, index) => ask(index).finally(() => answered++))
  await eventually(() => expect(answered).toBeGreaterThanOrEqual(answers), { everyMs: 1 })
  await stage.system.kill('leads-service')
  const before = await Promise.all(first)
  expect(before.filter((answer) => answer.status !== 200 && !mayAskAgain(answer))).toEqual([])
  await stage.system.restart('leads-service')
  const after = await Promise.all(
    before.map((answer, index) => (answer.status === 200 ? answer : untilDone(() => ask(index)))),
  )
  const [body] = after
  expect(after.every(({ bytes }) => bytes.equals(body!.bytes))).toBe(true)
  expect((await tenant.client.request('GET', '/leads')).json).toMatchObject({ total: 1 })
  const { reference } = (body!.json as { data: Lead }).data
  await eventually(async () => {
    const deliveries = await tenant.client.request('GET', '/manage/deliveries')
    expect(deliveries.json).toMatchObject({
      total: 1,
      data: [{ lead_reference: reference, status: 'delivered' }],
    })
  })
  expect(receiver.requests).toHaveLength(1)
}, 120_000)

test('an upload can be repeated with its key at once after the gateway was killed', async () => {
  const tenant = await stage.newTenant()
  const { reference } = await tenant.createLead()
  clients = [createClient(stage.system.baseUrl, { token: tenant.token })]
  const parts = [
    { name: 'name', value: 'Survey' },
    { name: 'file', value: 'hello', fileName: 'survey.txt' },
  ]
  const form = multipartBody(parts, 'XX')
  const send = (body: Buffer | PassThrough) =>
    clients[0]!.request('POST', `/leads/${reference}/attachments`, {
      body,
      headers: { 'content-type': 'multipart/form-data; boundary=XX', 'idempotency-key': 'upload' },
    })
  const half = new PassThrough()
  half.write(form.subarray(0, -30))
  const broken = send(half).then(
    ({ status }) => status,
    () => 'unreachable',
  )
  await stage.system.kill('gateway')
  expect(await broken).toBe('unreachable')
  half.destroy()
  await stage.system.restart('gateway')
  expect((await send(form)).status).toBe(200)
  const { json } = await tenant.client.request('GET', `/leads/${reference}/attachments`)
  expect(json).toMatchObject({ data: [{ file_name: 'survey.txt' }] })
}, 120_000)
