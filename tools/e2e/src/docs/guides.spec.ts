import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from '@leadwire/test-kit'
import { LEAD, type Stage, startStage } from '../stage.fixture'

const GUIDES = resolve(__dirname, '../../../../docs/guides')

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())

/** The blocks of a guide in one language. */
const blocksOf = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block]) => block!)

/** Follows a guide: saves its programs under the names in their first lines, then types its commands, in one shell. */
const follow = async (name: string) => {
  const { token, client } = await stage.newTenant()
  const text = await readFile(join(GUIDES, `${name}.md`), 'utf8')
  const folder = await mkdtemp(join(tmpdir(), 'leadwire-guide-'))
  try {
    for (let lead = 0; lead < 21; lead += 1) await client.request('POST', '/leads', { json: LEAD })
    for (const program of blocksOf(text, 'js')) {
      const [, file] = /^\/\/ ([\w-]+\.mjs)\n/.exec(program)!
      await writeFile(join(folder, file!), program)
    }
    const commands = [
      'set -euo pipefail',
      "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT",
      ...blocksOf(text, 'bash'),
    ]
    const { stdout } = await promisify(execFile)('bash', ['-c', commands.join('\n')], {
      cwd: folder,
      env: {
        ...process.env,
        BASE_URL: stage.system.baseUrl,
        TOKEN: token,
        WEBHOOK_PORT: String(await freePort()),
      },
      timeout: 60_000,
    })
    return stdout
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** What a reader who follows a guide gets to see. */
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
  errors: [/HTTP\/1\.1 422/, /"request_id"/, /^email: The email must be a valid email address\.$/m],
  idempotency: [/the same response twice/, /idempotency-replayed: true/i, /created \S{36}/],
  'going-live': [
    /"test":true/,
    /"name":"Website form"|"revoked_at"/,
    /"secret":/,
    /"action":"token\.created"/,
  ],
}

test('every guide is followed', async () => {
  const names = (await readdir(GUIDES)).map((file) => file.replace('.md', ''))
  expect(names.sort()).toEqual(Object.keys(SEEN).sort())
})

test.each(Object.entries(SEEN))('%s: its programs and commands work as they stand', async (name, seen) => {
  const stdout = await follow(name)
  for (const words of seen) expect(stdout).toMatch(words)
})
