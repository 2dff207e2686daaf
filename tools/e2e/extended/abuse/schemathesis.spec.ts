import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publish } from '../../support/capture'
import { type Stage, startStage, type Tenant } from '../../support/stage'
import { findSchemathesis } from './schemathesis.fixture'

// CONTRIBUTING.md describes these settings.
const SECONDS = Number(process.env['SCHEMATHESIS_SECONDS'] ?? 30)
/**
 * The maximum number of examples for each operation. The number is large enough to use the whole time, and
 * small enough to leave time for every operation.
 */
const EXAMPLES = Math.max(100, Math.round(SECONDS * 1.5))
const SEED = Number(process.env['SCHEMATHESIS_SEED'] ?? 20261124)
/** The test with existing records repeats with new seeds until it has sent this number of requests. */
const REQUESTS = Number(process.env['SCHEMATHESIS_REQUESTS'] ?? 1)

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
]

const found = findSchemathesis()
jest.setTimeout((SECONDS + 120) * 1000 + REQUESTS * 50)

let stage: Stage
let tenant: Tenant
let folder: string
beforeAll(async () => {
  stage = await startStage({ env: { CAPTURE_RATE: '1000000/1m', CAPTURE_DAILY: '999999999' } })
  tenant = await stage.newTenant()
  folder = await mkdtemp(join(tmpdir(), 'leadwire-schemathesis-'))
})
afterAll(async () => {
  await stage?.stop()
  if (folder) await rm(folder, { recursive: true })
})

interface Run {
  token: string
  /** The fraction of SECONDS that the run may take. */
  share: number
  only: string[]
  seed?: number
  config?: string
}

/**
 * Sends valid and invalid requests that are generated from the OpenAPI document. Returns the findings, or an
 * empty text.
 */
const explore = (binary: string, { token, share, only, seed = SEED, config }: Run) =>
  new Promise<string>((resolve) => {
    const args = [
      ...(config ? ['--config-file', config] : []),
      'run',
      `${stage.system.baseUrl}/openapi.json`,
      `--header=Authorization: Bearer ${token}`,
      `--checks=${CHECKS.join(',')}`,
      '--phases=examples,coverage,fuzzing',
      `--seed=${seed}`,
      `--max-time=${Math.max(5, Math.round(SECONDS * share))}`,
      // Exceeds the 30 s that a long poll of events may wait.
      '--request-timeout=40',
      `--max-examples=${EXAMPLES}`,
      '--continue-on-failure',
      '--no-color',
      '--generation-database=none',
      ...only,
    ]
    execFile(binary, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve(error ? `${stdout}${stderr}` : ''),
    )
  })

/** Counts all responses of the gateway, and the responses with a status below 400. */
const countRequests = async () => {
  const { health } = stage.system.services.find(({ name }) => name === 'gateway')!
  const metrics = await (await fetch(`${health}/metrics`)).text()
  const sum = (statuses: string) =>
    [...metrics.matchAll(/^http_request_duration_seconds_count\{.*status="(\d+)".*\} (\d+)$/gm)]
      .filter(([, status]) => status! < statuses)
      .reduce((total, [, , count]) => total + Number(count), 0)
  return { all: sum('9'), fulfilled: sum('4') }
}

const expectNoErrors = () =>
  expect(stage.system.logs().filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])

// This operation has a separate run. Ids are small numbers, so any other run would sooner or later send the
// id of its own token and revoke it.
const REVOKE = 'revokeToken'

const RECORDS = [
  '--include-path-regex',
  [
    '^/capture/',
    '^/calendars/',
    '^/portal-sessions$',
    '^/manage/(tokens|events)$',
    '^/leads/[^/]+/(appointments|callbacks)',
    '^/manage/users/[^/]+/calendar$',
    '^/manage/leads/(batch|external/.+|[^/]+|[^/]+/duplicate.*|[^/]+/notes.*)$',
    '^/manage/webhook-endpoints(/[^/]+(/portal|/replay.*)?)?$',
  ].join('|'),
  '--exclude-operation-id',
  'deleteWebhookEndpoint',
]

const DATED = { date: '01/02/2030 10:00', notify: false }

/**
 * Creates records and a configuration file that puts their ids into most paths. Without these ids most
 * responses would be 404.
 */
const writeConfig = async (tenant: Tenant): Promise<string> => {
  const { send, createLead, listen } = tenant
  const make = <T = { id: number }>(path: string, json: object = {}) => send<T>('POST', path, { json })
  const { reference } = await createLead()
  const { reference: second } = await createLead()
  const { id: user } = await make('/manage/users', { email: 'sam@example.com', name: 'Sam' })
  const { id: revoked } = await make('/manage/users', { email: 'kim@example.com', name: 'Kim' })
  const { url } = await make<{ url: string }>(`/manage/users/${user}/calendar`)
  const { token } = await publish(tenant, { honeypot: 'fax' })
  const { id: endpoint } = await listen()
  const replay = await make(`/manage/webhook-endpoints/${endpoint}/replay`, {
    after_sequence: 0,
    dry_run: true,
  })
  // Returns also the next 19 ids, for records that the run will create.
  const listIds = ({ id }: { id: number }) => Array.from({ length: 20 }, (_, more) => id + more)
  const from = async (path: string) =>
    listIds(await make(`/leads/${reference}/${path}`, { ...DATED, user_id: user }))
  const anywhere = {
    reference: [reference, second],
    external_id: ['own-1', 'own-2'],
    token: [token],
    secret: [/lw_cal_[\w-]+/.exec(url)![0]],
    replay_id: [replay.id, replay.id + 1, replay.id + 2],
  }
  const ids = {
    '/appointments/': await from('appointments'),
    '/callbacks/': await from('callbacks'),
    '/notes/': listIds(await make(`/manage/leads/${reference}/notes`, { text: 'Wants oak.' })),
    '^/manage/users/': [revoked],
    '^/manage/webhook-endpoints/': [endpoint],
  }
  const dictionary = ([name, values]: [string, (string | number)[]]) =>
    `[dictionaries.'${name}']\nvalues = ${JSON.stringify(values)}`
  const parameter = (name: string, from = name) =>
    `"path.${name}" = { dictionary = '${from}', probability = 0.9 }`
  const everywhere = Object.keys(anywhere).map((name) => parameter(name))
  const lines = [
    ...[...Object.entries(anywhere), ...Object.entries(ids)].map(dictionary),
    '[parameters]',
    ...everywhere,
    ...Object.keys(ids).flatMap((paths) => [
      `[[operations]]\ninclude-path-regex = '${paths}'`,
      `parameters = { ${[...everywhere, parameter('id', paths)].join(', ')} }`,
    ]),
  ]
  const file = join(folder, 'schemathesis.toml')
  await writeFile(file, lines.join('\n'))
  return file
}

if ('reason' in found) {
  test.skip(`every response conforms to the document (skipped: ${found.reason})`, () => undefined)
} else {
  test.each([
    ['manage', ['leads', 'manage'], 0.4, ['--exclude-operation-id', REVOKE]],
    ['leads', ['leads'], 0.15, ['--exclude-operation-id', REVOKE]],
    ['a token that may revoke itself', ['leads', 'manage'], 0.05, ['--include-operation-id', REVOKE]],
  ])('every response to requests with %s conforms to the document', async (name, scopes, share, only) => {
    const { token } = await tenant.newToken({ scopes })
    const before = await countRequests()
    expect(await explore(found.binary, { token, share, only })).toBe('')
    const requests = (await countRequests()).all - before.all
    console.info(`${requests} requests with ${name}, seed ${SEED}`)
    expect(requests).toBeGreaterThan(0)
    expectNoErrors()
    if (!only.includes('--include-operation-id'))
      expect((await tenant.client.request('GET', '/leads', { token })).status).toBe(200)
  })

  test('every response conforms to the document if the forms, leads, calendars, events and portals exist', async () => {
    let [requests, seed] = [0, SEED]
    const before = await countRequests()
    for (; requests < REQUESTS; seed += 1) {
      const tenant = await stage.newTenant()
      const { token } = tenant
      const run = { token, only: RECORDS, seed, config: await writeConfig(tenant) }
      expect(await explore(found.binary, { ...run, share: 0.4 })).toBe('')
      requests = (await countRequests()).all - before.all
    }
    const fulfilled = (await countRequests()).fulfilled - before.fulfilled
    console.info(
      `${requests} requests with records that exist, ${fulfilled} fulfilled, seeds ${SEED} to ${seed - 1}`,
    )
    expectNoErrors()
  })
}
