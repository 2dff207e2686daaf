import { execFile } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type Receiver, type SharedSystem, startReceiver } from '@leadwire/test-kit'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')

let system: SharedSystem
let receiver: Receiver

beforeAll(async () => {
  ;[system, receiver] = await Promise.all([joinSystem(), startReceiver()])
})
afterAll(async () => {
  await system?.stop()
  await receiver?.stop()
})

/**
 * Runs `leadwire endpoints …` and returns its output. If it fails, rejects with an error that has its
 * `stderr`.
 */
const endpoints = async (command: string, ...args: string[]) => {
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  const env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
  }
  const line = [MAIN, 'endpoints', command, '--account', String(system.account.id), ...args, '--json']
  return JSON.parse((await promisify(execFile)(process.execPath, line, { env })).stdout)
}

const call = async (method: string, path: string, json?: object) => {
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const response = await fetch(`${system.baseUrl}${path}`, {
    method,
    headers,
    body: JSON.stringify(json) ?? null,
  })
  return (await response.json()) as { data: object; errors?: Record<string, string[]> }
}

test('an endpoint is created and changed with every field of the API', async () => {
  const made = await endpoints(
    'create',
    '--url',
    `${receiver.url}/a`,
    '--description',
    'CRM',
    '--enabled',
    'false',
    '--events',
    'lead.created,attachment.added',
    '--leads',
    'test',
    '--secret',
    'a-secret-of-my-own',
    '--filter-status',
    'open,sold',
    '--filter-postcode',
    'sw1a,m1',
    '--header',
    'X-Gate: opens: wide',
    '--header',
    'Authorization: Bearer key',
  )
  const path = `/manage/webhook-endpoints/${made.id}`
  expect(made.secret).toBe('a-secret-of-my-own')
  expect((await call('GET', path)).data).toMatchObject({
    url: `${receiver.url}/a`,
    description: 'CRM',
    enabled: false,
    leads: 'test',
    events: ['lead.created', 'attachment.added'],
    filter: { status: ['open', 'sold'], postcode: ['SW1A', 'M1'] },
    headers: { 'X-Gate': null, Authorization: null },
  })
  expect(made.filter).toEqual({ status: ['open', 'sold'], postcode: ['SW1A', 'M1'] })

  const change = ['--id', String(made.id), '--url', receiver.url, '--description', '', '--enabled', 'true']
  const more = ['--events', 'lead.updated', '--leads', 'live', '--header', 'X-Gate', '--header', 'X-Key: 2']
  const filter = ['--filter-referrer', 'Live Chat,Direct', '--filter-user-email', 'Sam@example.com']
  await endpoints('update', ...change, ...more, ...filter)
  expect((await call('GET', path)).data).toMatchObject({
    url: receiver.url,
    description: null,
    enabled: true,
    leads: 'live',
    events: ['lead.updated'],
    filter: { referrer: ['Live Chat', 'Direct'], user_email: ['sam@example.com'] },
    headers: { 'X-Gate': null, 'X-Key': null },
  })
  await call('POST', `${path}/test`)
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(receiver.requests[0]!.headers).toMatchObject({ 'x-gate': 'opens: wide', 'x-key': '2' })

  const filtered = { referrer: ['Live Chat', 'Direct'], user_email: ['sam@example.com'] }
  expect(await endpoints('update', '--id', String(made.id), '--no-headers')).toMatchObject({
    headers: [],
    filter: filtered,
  })
  expect(await endpoints('update', '--id', String(made.id), '--no-filter')).toMatchObject({ filter: null })
  expect((await call('GET', path)).data).toMatchObject({ leads: 'live', headers: {} })
})

test.each<[string, string[], object]>([
  ['--url', ['--url', 'ftp://example.com'], { url: 'ftp://example.com' }],
  ['--url', ['--url', 'https://me:word@example.com'], { url: 'https://me:word@example.com' }],
  ['--description', ['--description', 'x'.repeat(256)], { description: 'x'.repeat(256) }],
  ['--events', ['--events', 'lead.changed'], { events: ['lead.changed'] }],
  ['--events', ['--events', 'lead.created,lead.created'], { events: ['lead.created', 'lead.created'] }],
  ['--events', ['--events', ''], { events: [''] }],
  ['--leads', ['--leads', 'some'], { leads: 'some' }],
  ['--filter-status', ['--filter-status', 'asleep'], { filter: { status: ['asleep'] } }],
  ['--filter-referrer', ['--filter-referrer', ''], { filter: { referrer: [''] } }],
  ['--filter-postcode', ['--filter-postcode', '1AA'], { filter: { postcode: ['1AA'] } }],
  ['--filter-user-email', ['--filter-user-email', 'sam'], { filter: { user_email: ['sam'] } }],
  ['--header', ['--header', 'Host: a.example'], { headers: { Host: 'a.example' } }],
  ['--header X-Key', ['--header', 'X-Key'], { headers: { 'X-Key': null } }],
  ['--header', ['--header', 'Ä: 1'], { headers: { Ä: '1' } }],
  ['--secret', ['--secret', 'short'], { secret: 'short' }],
])('%s gets the same error as in the API: %j', async (option, args, json) => {
  const url = args.includes('--url') ? [] : ['--url', 'http://example.com']
  await expect(endpoints('create', ...url, ...args)).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(new RegExp(`^leadwire: The given data was invalid\\.\n  ${option}: .+\n$`)),
  })
  const { errors = {} } = await call('POST', '/manage/webhook-endpoints', {
    url: 'http://example.com',
    ...json,
  })
  expect(Object.keys(errors)).toHaveLength(1)
})
