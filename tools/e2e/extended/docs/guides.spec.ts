import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { createDatabase, eventually, freePort, startReceiver, type TestDatabase } from '@leadwire/test-kit'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

const ROOT = resolve(__dirname, '../../../..')
const GUIDES = join(ROOT, 'docs/guides')

let stage: SharedStage
let database: TestDatabase
beforeAll(async () => {
  ;[stage, database] = await Promise.all([joinStage(), createDatabase({ name: 'reader' })])
})
afterAll(async () => {
  await stage?.stop()
  await database?.drop()
})

/** Returns the code blocks of a guide in one language. */
const findBlocks = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block!)

/** Creates a lead, and waits until its webhook is delivered and a search finds the lead. */
const deliverOne = async ({ listen, createLead, client }: Tenant) => {
  await listen()
  const { reference } = await createLead()
  await eventually(async () => {
    const delivered = `/manage/deliveries?status=delivered&lead_reference=${reference}`
    const { json: deliveries } = await client.request<{ total: number }>('GET', delivered)
    expect(deliveries.total).toBe(1)
    // The guide uses the first lead that the search lists. Only this lead has a delivery.
    const found = await client.request<{ data: { reference: string }[] }>('GET', `/leads?q=${LEAD.email}`)
    expect(found.json.data[0]?.reference).toBe(reference)
  })
}

type Reader = { env?: Record<string, string>; aliases?: string }

/**
 * Follows a guide. Saves its programs under the names in their first lines, then runs its commands in one
 * shell. TOKEN in this shell has the scopes that the guide names.
 * @returns the output and the exit code of the shell
 */
const follow = async (name: string, { env = {}, aliases = '' }: Reader = {}) => {
  const tenant = await stage.newTenant()
  const { client } = tenant
  const text = await readFile(join(GUIDES, `${name}.md`), 'utf8')
  const [, named] = /token\s+with\s+the\s+scopes?\s+(`[\w:]+`(?:\s+and\s+`[\w:]+`)?)/.exec(text) ?? []
  const { token } = named ? await tenant.newToken({ scopes: named.match(/[\w:]+(?=`)/g) }) : tenant
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-guide-'))
  try {
    for (let lead = 0; lead < 21; lead += 1) await client.request('POST', '/leads', { json: LEAD })
    if (name === 'missing-webhook') await deliverOne(tenant)
    // Provides the packages that a reader of the guide installs.
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    for (const program of findBlocks(text, 'js')) {
      const [, file] = /^\/\/ ([\w-]+\.mjs)\n/.exec(program) ?? []
      if (file) await writeFile(join(folder, file), program)
    }
    const commands = [
      'set -euo pipefail; exec 2>&1',
      aliases,
      "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT",
      ...findBlocks(text, 'bash'),
    ]
    return await promisify(execFile)('bash', ['-c', commands.join('\n')], {
      cwd: folder,
      env: {
        ...process.env,
        BASE_URL: stage.system.baseUrl,
        TOKEN: token,
        DATABASE_URL: database.url,
        WEBHOOK_PORT: String(await freePort()),
        ...env,
      },
      timeout: 110_000,
    }).then(
      ({ stdout }) => ({ stdout, code: 0 }),
      ({ stdout, code }: { stdout: string; code: number }) => ({ stdout, code }),
    )
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What the output of each guide's commands must contain. */
const SEEN: Record<string, RegExp[]> = {
  'first-lead': [
    /"name":"Kitchen windows"/,
    /"status":"appointment_scheduled"/,
    /created \S{36} for Grace Hopper/,
  ],
  'paging-and-syncing': [
    /"last_page":2/,
    /copied 21 leads/,
    /again: 304/,
    /value 4500: 200\nvalue 5000: 412/,
  ],
  attachments: [
    /"file_name":"survey\.txt"/,
    /attached survey\.txt, 25 bytes of text\/plain/,
    /the same bytes/,
  ],
  webhooks: [/verified: lead \S{36} from /, /"status":"delivered"|"status":"pending"/],
  'never-miss-a-lead': [/listening on/, /"secret":/],
  'missing-webhook': [/^\S{36}$/m, /"attempts":\[\{"number":1,.*"status":200/, /"status":"pending"/],
  errors: [/HTTP\/1\.1 422/, /"request_id"/, /^email: The email must be a valid email address\.$/m],
  idempotency: [/the same response twice/, /idempotency-replayed: true/i, /created \S{36}/],
  'own-ids': [
    /"created":true/,
    /"status":"sold".*"created":false/,
    /"external_id":"crm-1017","attributes":\{"utm_source":"newsletter"\}/,
    /"total":1/,
    /"value":4500.*"errors":\{/,
  ],
  'website-form': [
    /"token":"lw_pub_/,
    /"stamp":"\d+\./,
    /location: https:\/\/www\.example\.com\/thanks\.html\?reference=/i,
  ],
  people: [/"role":"sales"/, /"role":"support"/, /"ended":0/, /"name":"A removed user"/],
  'going-live': [
    /"test":true/,
    /"name":"Website form"|"revoked_at"/,
    /"secret":/,
    /"action":"token\.created"/,
  ],
}

/**
 * Guides without commands. Their code consists of functions, which the specs of libs/webhook-receiver run.
 */
const READ_ONLY = ['receiving-webhooks']

test('every guide has a test', async () => {
  const names = (await readdir(GUIDES)).map((file) => file.replace('.md', ''))
  expect(names.sort()).toEqual([...Object.keys(SEEN), ...READ_ONLY].sort())
})

test.each(Object.entries(SEEN))('%s: its programs and commands work unchanged', async (name, seen) => {
  const { stdout, code } = await follow(name)
  for (const words of seen) expect(stdout).toMatch(words)
  expect(code).toBe(0)
})

test.each(Object.keys(SEEN))('%s: a reader with an invalid token sees the problem', async (name) => {
  const { stdout } = await follow(name, { env: { TOKEN: 'none' } })
  expect(stdout).toContain('"request_id"')
})

test('webhooks: no wait is endless if another program uses the port', async () => {
  const other = await startReceiver()
  const { stdout } = await follow('webhooks', {
    env: { WEBHOOK_PORT: new URL(other.url).port },
    aliases: 'sleep() { :; }',
  })
  expect(stdout).toContain('Choose another port with WEBHOOK_PORT.')
  expect(stdout).toContain('No webhook was verified within 30 seconds.')
  await other.stop()
})
