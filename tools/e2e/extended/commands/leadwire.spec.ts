import { execFile, spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { promisify } from 'node:util'
import { eventually, joinSystem, type SharedSystem, type TestDatabase } from '@leadwire/test-kit'
import { Client } from 'pg'

const MAIN = resolve(__dirname, '../../../leadwire/dist/main.js')
const UNKNOWN = '999999'
const FORM = ['tokens', 'create', '--name', 'Z', '--publishable']
const ORIGIN = ['--origin', 'https://a.example']

// This text would set the title of a terminal, clear the terminal, and reverse the direction of text.
const RAW = '\u001b]0;title\u0007\u009b2J\u202eZoë\u2066 👩\u{200d}🔧'
const SHOWN = '\\u{1b}]0;title\\u{7}\\u{9b}2J\\u{202e}Zoë\\u{2066} 👩\u{200d}🔧'
const UNSAFE = /(?!\n|\u200d)[\p{Cc}\p{Cf}]/u

let system: SharedSystem
let env: NodeJS.ProcessEnv
let account: string[]

beforeAll(async () => {
  system = await joinSystem()
  const findGrpc = (wanted: string) => system.services.find(({ service }) => service === wanted)!.grpc!
  env = {
    ...process.env,
    LEADS_SERVICE_URL: findGrpc('leads-service'),
    WEBHOOK_SERVICE_URL: findGrpc('webhook-service'),
    SERVICE_TOKEN: system.serviceToken,
    LEADWIRE_URL: system.baseUrl,
    LEADWIRE_TOKEN: system.token,
  }
  account = ['--account', String(system.account.id)]
})
afterAll(() => system?.stop())

/**
 * Runs a command and returns its output. If the command fails, rejects with an error that has its `stderr`.
 */
const leadwire = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, [MAIN, ...args], { env, timeout: 30_000 })).stdout

const refusal = async (...args: string[]) => {
  const { code, stdout, stderr } = await leadwire(...args).catch((error) => error)
  expect([code, stdout]).toEqual([1, ''])
  return stderr as string
}

const create = async (path: string, json: object) => {
  const headers = { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' }
  const response = await fetch(`${system.baseUrl}${path}`, {
    method: 'POST',
    body: JSON.stringify(json),
    headers,
  })
  expect(response.status).toBe(200)
  return ((await response.json()) as { data: { id: number } }).data
}

/** Runs an update that stores RAW unchanged, as earlier releases stored such texts. */
const storeRaw = async ({ url }: TestDatabase, update: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`${update} WHERE account_id = $2`, [RAW, system.account.id]).finally(() => client.end())
}

describe('untrusted text', () => {
  it('is shown with codes instead of control characters', async () => {
    const { id } = await create('/manage/webhook-endpoints', { url: 'http://example.com' })
    await create('/manage/users', { email: 'zoe@example.com', name: 'Zoë' })
    await storeRaw(system.databases.webhooks, 'UPDATE endpoints SET description = $1')
    await storeRaw(system.databases.leads, 'UPDATE users SET name = $1')
    const outputs = [
      await leadwire('endpoints', 'list', ...account),
      await leadwire('endpoints', 'disable', ...account, '--id', String(id)),
      await leadwire('users', 'list', ...account),
    ]
    for (const output of outputs) {
      expect(output).toContain(SHOWN)
      expect(output).not.toMatch(UNSAFE)
    }
  })

  it('is unchanged in JSON, which escapes control characters', async () => {
    const output = await leadwire('users', 'list', ...account, '--json')
    expect(output).not.toMatch(UNSAFE)
    expect(JSON.parse(output)).toMatchObject([{ name: RAW }])
  })

  it('is shown without control characters in errors', async () => {
    expect(await refusal('import', '\u001b[2Jno-file.csv')).toMatch(/ENOENT.*\\u\{1b\}\[2Jno-file\.csv/)
  })

  const hasScript = spawnSync('script', ['--version']).status === 0
  const whenScript = hasScript ? it : it.skip
  whenScript(
    `is exported to a terminal without control characters${hasScript ? '' : ' (skipped: there is no script of util-linux)'}`,
    async () => {
      await create('/manage/leads', {
        name: 'Bay',
        first_name: 'Ada',
        last_name: 'Byron',
        email: 'ada@example.com',
        phone: '020 7946 0123',
        postcode: 'SW1A 1AA',
        referrer: 'Website',
        status: 'open',
        description: RAW,
      })
      const command = `${process.execPath} ${MAIN} export 2> /dev/null`
      const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], { env })
      expect(stdout).toContain('\\u{202e}Zoë')
      expect(stdout.replaceAll('\r\n', '\n')).not.toMatch(UNSAFE)
      expect(await leadwire('export')).toContain('\u202eZoë')
    },
  )
})

it('ends without an error if the reader closes the pipe', async () => {
  const command = `{ ${process.execPath} ${MAIN} users list ${account.join(' ')}; echo $? >&2; } | true`
  expect((await promisify(execFile)('sh', ['-c', command], { env })).stderr).toBe('0\n')
  const exporting = `{ ${process.execPath} ${MAIN} export --format csv; echo $? >&2; } | true`
  expect((await promisify(execFile)('sh', ['-c', exporting], { env })).stderr).toBe('0\n')
})

it('names the addresses of the services if they do not respond', async () => {
  const away = { ...env, LEADS_SERVICE_URL: '127.0.0.1:9', WEBHOOK_SERVICE_URL: '127.0.0.1:9' }
  const run = promisify(execFile)(process.execPath, [MAIN, 'accounts', 'list'], { env: away })
  await expect(run).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^leadwire: .*Check leads-service at 127\.0\.0\.1:9 and .*\n$/),
  })
})

describe('an account that does not exist', () => {
  const of = ['--account', UNKNOWN]
  it.each([
    ['reconcile', ...of],
    ['endpoints', 'create', ...of, '--url', 'http://example.com'],
    ['endpoints', 'list', ...of],
    ['deliveries', 'list', ...of],
    ['users', 'list', ...of],
    ['tokens', 'list', ...of],
    ['figures', 'check', ...of],
    ['figures', 'rebuild', ...of],
  ])('%s %s is refused', async (...args) => {
    expect(await refusal(...args)).toBe('leadwire: There is no such account.\n')
  })
})

test('figures are compared with the leads, and rebuilt', async () => {
  const lead = { first_name: 'Ada', last_name: 'Byron', email: 'ada@example.com', phone: '020 7946 0123' }
  await create('/leads', { ...lead, name: 'Bay', postcode: 'SW1A 1AA', referrer: 'Website', status: 'open' })
  const awaitCheck = () =>
    eventually(
      async () => {
        const checked = JSON.parse(await leadwire('figures', 'check', ...account, '--json'))
        expect(checked).toMatchObject({ differing_leads: [], differing_days: [] })
        expect(checked.checked_days).toBeGreaterThan(0)
      },
      { timeoutMs: 30_000 },
    )
  await awaitCheck()
  const rebuilt = await leadwire('figures', 'rebuild', ...account, '--json')
  const rebuilding = { account: system.account.id, state: 'rebuilding' }
  expect(JSON.parse(rebuilt)).toEqual(rebuilding)
  await awaitCheck()
  expect(JSON.parse(await leadwire('figures', 'rebuild', '--json'))).toContainEqual(rebuilding)
  await awaitCheck()
  expect(JSON.parse(await leadwire('figures', 'check', '--json'))).toContainEqual(
    expect.objectContaining({ account: system.account.id, differing_leads: [], differing_days: [] }),
  )
})

test('a publishable token requires origins', async () => {
  const of = ['tokens', 'create', '--name', 'Form', ...account] as const
  const origins = 'https://www.example.com, https://example.com'
  const made = await leadwire(...of, '--publishable', '--origin', origins, '--honeypot', 'fax', '--json')
  expect(JSON.parse(made)).toMatchObject({
    scopes: ['leads:create'],
    publishable: true,
    honeypot: 'fax',
    return_url: null,
    origins: ['https://www.example.com', 'https://example.com'],
    token: expect.stringMatching(/^lw_pub_/),
  })
  expect(await refusal(...of, '--publishable')).toMatch(/--origin: The origins field is required/)
  expect(await refusal(...of, '--publishable', '--origin', 'https://a.example/x')).toMatch(/origins/)
})

test('a token for one endpoint has only the scope webhooks, and the account must have the endpoint', async () => {
  const { id } = await create('/manage/webhook-endpoints', { url: 'http://127.0.0.1:9/' })
  const of = (endpoint: number | string) =>
    ['tokens', 'create', '--name', 'Partner', ...account, '--endpoint', String(endpoint)] as const
  const made = JSON.parse(await leadwire(...of(id), '--json'))
  expect(made).toMatchObject({ scopes: ['webhooks'], endpoint_id: id, token: expect.any(String) })
  expect(await refusal(...of(UNKNOWN))).toBe('leadwire: There is no such webhook endpoint.\n')
  expect(await refusal(...of(id), '--scope', 'manage')).toMatch(/--endpoint: .*only the scope webhooks/)
})

test('a token is revoked together with the tokens that it created', async () => {
  const tokens = async (...args: string[]) =>
    JSON.parse(await leadwire('tokens', ...args, ...account, '--json'))
  const parent = await tokens('create', '--name', 'Parent', '--scope', 'manage')
  expect(parent.created_by).toBeNull()
  const response = await fetch(`${system.baseUrl}/manage/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${parent.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Child', scopes: ['manage'] }),
  })
  expect(response.status).toBe(200)
  await tokens('revoke', '--id', String(parent.id), '--cascade')
  const [child] = (await tokens('list')).filter(({ name }: { name: string }) => name === 'Child')
  expect(child).toMatchObject({
    created_by: { id: parent.id, name: 'Parent' },
    revoked_at: expect.any(String),
  })
})

describe('a value that the API refuses', () => {
  it.each([
    [
      ['deliveries', 'list', '--status', 'exhaustd'],
      /--status: The selected status is invalid\. Allowed values: pending, /,
    ],
    [['deliveries', 'list', '--lead', 'r-1'], /--lead: The lead reference must be a valid UUID/],
    [['deliveries', 'list', '--page', '1.5'], /positive integer/],
    [
      ['deliveries', 'list', '--error', 'none', '--failed'],
      /--error: The selected error is invalid\. Allowed values: timeout, /,
    ],
    [['deliveries', 'list', '--from', '2026-01-01'], /--from: .*not a valid date/],
    [['endpoints', 'create', '--url', 'http:example.com'], /--url: The url format is invalid/],
    [
      ['endpoints', 'create', '--url', 'http://a.example', '--description', 'x'.repeat(256)],
      /--description: The description may not be greater than 255/,
    ],
    [['users', 'create', '--name', 'Z', '--email', `z@${'x.'.repeat(130)}example.com`], /email: .*valid/],
    [['tokens', 'create', '--name', 'Z', '--scopes', 'leads,everything'], /scopes: .*invalid/],
    [[...FORM, '--origin', 'https://*.example.com'], /--origin: .*must be an origin/],
    [[...FORM, ...ORIGIN, '--return-url', 'javascript:alert(1)'], /--return-url: .*invalid/],
    [[...FORM, ...ORIGIN, '--return-url', 'https://u:p@a.example/'], /--return-url: .*invalid/],
    [[...FORM, ...ORIGIN, '--honeypot', 'two words'], /--honeypot: .*invalid/],
    [
      ['tokens', 'create', '--name', 'Z', '--return-url', 'https://a.example/'],
      /--return-url: .*only with publishable/,
    ],
    [['tokens', 'create', '--name', 'Z', '--expires-at', '2030-01-01'], /--expires-at: .*not a valid date/],
    [
      ['tokens', 'create', '--name', 'Z', '--expires-at', '2030-02-30T00:00:00Z'],
      /--expires-at: .*not a valid date/,
    ],
    [
      ['endpoints', 'recover', '--id', '1', '--since', '2026-01-01T00:00 (x)Z'],
      /--since: .*not a valid date/,
    ],
    // An unset variable of the shell must not silently drop a filter or an expiry.
    [['deliveries', 'list', '--status', ''], /--status: The status may not be empty/],
    [['tokens', 'create', '--name', 'Z', '--expires-at', ' '], /--expires-at: .*may not be empty/],
  ])('is refused: %j', async (args, why) => {
    expect(await refusal(...args, ...account)).toMatch(why)
  })

  it('does not include the last instant of 9999, which is truncated to microseconds', async () => {
    const args = [
      'tokens',
      'create',
      '--name',
      'Z',
      '--expires-at',
      '9999-12-31T23:59:59.9999999Z',
      ...account,
    ]
    expect(JSON.parse(await leadwire(...args, '--json'))).toMatchObject({
      expires_at: '9999-12-31T23:59:59.999999Z',
    })
  })

  it.each(['0x1', '1e0', '+1', ' 1', '1.0', '0', '-1', '١'])('%j is not an id', async (id) => {
    expect(await refusal('users', 'list', `--account=${id}`)).toContain('It must be a positive integer.')
  })
})
