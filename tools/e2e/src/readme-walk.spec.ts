import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { type System, startSystem } from '@leadwire/test-kit'

const root = resolve(__dirname, '../../..')

let system: System
let data: string

beforeAll(async () => {
  system = await startSystem()
  data = await mkdtemp(join(tmpdir(), 'leadwire-walk-'))
  await writeFile(join(data, 'dev.json'), JSON.stringify({ base_url: system.baseUrl, token: system.token }))
})
afterAll(async () => {
  await system?.stop()
  await rm(data, { recursive: true, force: true })
})

/** The commands of the README's walk, in order, as a reader would type them. */
const walk = async () => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const section = readme.slice(
    readme.indexOf('## A walk of five minutes'),
    readme.indexOf('## The interface'),
  )
  return [...section.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, commands]) => commands).join('\n')
}

test('the README’s walk, followed to the letter, creates, lists, retrieves, attaches, and verifies a webhook', async () => {
  const receiving =
    'for i in $(seq 100); do curl -so /dev/null http://127.0.0.1:4400/ && break; sleep 0.1; done'
  const script = (await walk()).replace(
    'docs/walk/receive.mjs &\n',
    `docs/walk/receive.mjs &\n${receiving}\n`,
  )
  const run = promisify(execFile)
  // The receiver prints when a webhook arrived; two leads are made, by curl and by Node.
  const commands = `set -euo pipefail; trap 'kill %1' EXIT; exec > >(tee "$LEADWIRE_DATA/out") 2>&1\n${script}
    for i in $(seq 100); do [ "$(grep -o 'verified: lead' "$LEADWIRE_DATA/out" | wc -l)" = 2 ] && break; sleep 0.1; done`
  const { stdout } = await run('bash', ['-c', commands], {
    cwd: root,
    env: { ...process.env, LEADWIRE_DATA: data },
    timeout: 25_000,
  })
  expect(stdout.match(/verified: lead \S+ from Ada Byron/g)).toHaveLength(2)
  expect(stdout).toContain('"per_page":20')
  expect(stdout).toContain('"file_name":"survey.txt"')
  expect(stdout).toContain('downloaded: Three windows, one door.')
  expect(stdout).toMatch(/SHA1\(stdin\)= [0-9a-f]{40}|\b[0-9a-f]{40}\b/)
})
