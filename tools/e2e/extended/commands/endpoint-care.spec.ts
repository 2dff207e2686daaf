import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type Receiver, type SharedSystem, startReceiver } from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

const LEAD = {
  name: 'Bay',
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'ada@example.com',
  phone: '020 7946 0123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

let system: SharedSystem
let receiver: Receiver
let id: number

const ask = async (path: string, body: object) => {
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const options = { method: 'POST', headers, body: JSON.stringify(body) }
  const response = await fetch(`${system.baseUrl}${path}`, options)
  return { status: response.status, json: (await response.json()) as { data: { id: number } } }
}

beforeAll(async () => {
  ;[system, receiver] = await Promise.all([joinSystem(), startReceiver()])
  id = (await ask('/manage/webhook-endpoints', { url: receiver.url })).json.data.id
})
afterAll(async () => {
  await system?.stop()
  await receiver?.stop()
})

/**
 * Runs a command and returns its output. If the command fails, rejects with an error that has its `stderr`.
 */
const leadwire = async (...args: string[]) => {
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  const env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
  const command = [MAIN, ...args, '--account', String(system.account.id), '--json']
  const { stdout } = await promisify(execFile)(process.execPath, command, { env })
  return JSON.parse(stdout)
}

const recover = (...args: string[]) =>
  leadwire('endpoints', 'recover', '--id', String(id), '--since', '2026-01-01T00:00:00Z', ...args)

test('a recovery attempts deliveries that wait for a retry at once, from the command line and the API', async () => {
  receiver.answerWith({ status: 500 })
  await ask('/leads', LEAD)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await eventually(async () =>
    expect(await recover('--state', 'undelivered')).toMatchObject({ recovered: 1 }),
  )
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  const found = (...filters: string[]) => leadwire('deliveries', 'list', '--error', 'http_status', ...filters)
  const [failed] = await found('--failed', '--from', '2026-01-01T01:00:00+01:00', '--type', 'lead.created')
  expect(failed).toMatchObject({ last_status: 500, last_error: 'http_status' })
  expect(await found('--lead', failed.lead_reference.slice(0, 8).toUpperCase())).toMatchObject([
    { id: failed.id },
  ])
  for (const others of [['--no-failed'], ['--to', '2026-01-01T00:00:00Z']])
    expect(await found(...others)).toEqual([])
  expect(await recover()).toEqual({ recovered: 0, recovered_capped: false })
  receiver.answerWith({ status: 200 })
  const request = { since: '2026-01-01T00:00:00Z', state: 'undelivered' }
  await eventually(async () => {
    const { json } = await ask(`/manage/webhook-endpoints/${id}/recover`, request)
    expect(json).toEqual({ data: { recovered: 1, recovered_capped: false } })
  })
  await eventually(() => expect(receiver.requests).toHaveLength(3))
  await eventually(async () => expect(await recover('--state', 'all')).toMatchObject({ recovered: 1 }))
})

test('a replay is counted, shown and cancelled', async () => {
  const replay = (...args: string[]) => leadwire('endpoints', 'replay', '--id', String(id), ...args)
  const all = ['--state', 'all', '--from', '2026-01-01T01:00:00+01:00']
  // Repeats the dry run, because the attempt that the previous test requested may still be in flight.
  await eventually(async () =>
    expect(await replay('--dry-run', ...all)).toMatchObject({ state: 'counted', matched: 1, enqueued: 0 }),
  )
  expect(await replay('--dry-run', ...all, '--to', '2026-01-02T00:00:00Z')).toMatchObject({ matched: 0 })
  expect(await replay('--dry-run', ...all, '--types', 'lead.updated')).toMatchObject({ matched: 0 })
  expect(await replay('--dry-run', ...all, '--after-sequence', '1')).toMatchObject({ matched: 0 })
  const before = receiver.requests.length
  const { id: replayId } = await replay(...all, '--until-sequence', '1')
  const show = (name: string) =>
    leadwire('endpoints', `${name}-replay`, '--id', String(id), '--replay', String(replayId))
  await eventually(() => expect(receiver.requests).toHaveLength(before + 1))
  await eventually(async () => expect(await show('show')).toMatchObject({ state: 'done', enqueued: 1 }))
  expect(await show('cancel')).toMatchObject({ id: replayId, state: 'done', matched: 1 })
  await expect(replay('--types', 'lead.lost')).rejects.toMatchObject({
    stderr: expect.stringContaining('--types'),
  })
})

test('an unknown state is refused', async () => {
  await expect(recover('--state', 'held')).rejects.toMatchObject({ stderr: expect.stringContaining('state') })
  const request = { since: '2026-01-01T00:00:00Z', state: 'held' }
  expect(await ask(`/manage/webhook-endpoints/${id}/recover`, request)).toMatchObject({
    status: 422,
    json: {
      errors: { state: ['The selected state is invalid. Allowed values: undelivered, exhausted, all.'] },
    },
  })
})

test('a test send reports whether a lead passes the filter', async () => {
  const { json } = await ask('/leads', LEAD)
  const { reference } = json.data as unknown as { reference: string }
  const filter = { status: ['sold'], postcode: ['SW1A'] }
  const { data } = (await ask('/manage/webhook-endpoints', { url: receiver.url, filter })).json
  const sent = (...args: string[]) => leadwire('endpoints', 'test', '--id', String(data.id), ...args)
  expect(await sent('--lead', reference)).toMatchObject({ filter: { passes: false, failed: ['status'] } })
  expect(await sent()).toMatchObject({ endpoint_id: data.id, filter: null })
  await expect(sent('--lead', 'nonsense')).rejects.toMatchObject({
    stderr: expect.stringContaining('--lead: The lead reference must be a valid UUID'),
  })
})

test('the help of rotate-secret shows the overlap in the format of the option', async () => {
  const help = [MAIN, 'endpoints', 'rotate-secret', '--help']
  const { stdout } = await promisify(execFile)(process.execPath, help)
  expect(stdout.replace(/\s+/g, ' ')).toContain('30d (default: 24h)')
})
