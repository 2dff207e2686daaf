import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { freePort, joinSystem, type SharedSystem } from '@leadwire/test-kit'

const root = resolve(__dirname, '../../..')

let system: SharedSystem
let data: string

beforeAll(async () => {
  system = await joinSystem()
  data = await mkdtemp(join(tmpdir(), 'leadwire-walk-'))
  await writeFile(join(data, 'dev.json'), JSON.stringify({ base_url: system.baseUrl, token: system.token }))
})
afterAll(async () => {
  await system?.stop()
  await rm(data, { recursive: true, force: true })
})

/** Returns the commands of the README's walkthrough in order, with the receiver in the given language. */
const walk = async (language: string) => {
  const readme = await readFile(join(root, 'README.md'), 'utf8')
  const section = readme.slice(readme.indexOf('## Try it'), readme.indexOf('## Test it'))
  const [, other] = new RegExp(`^\\| ${language}[ \\d]* \\| \`(.*)\` \\|$`, 'm').exec(section) ?? []
  const commands = [...section.matchAll(/```bash\n([\s\S]*?)```/g)].map(([, block]) => block).join('\n')
  return other ? commands.replace(/^node .* & RECEIVER=\$!$/m, () => other) : commands
}

// Waits for the delivery, because the spec runs the commands without the pauses that a person makes.
const delivered = `for i in $(seq 300); do
  curl -s "$BASE/manage/deliveries?status=delivered&lead_reference=$REFERENCE" -H "Authorization: Bearer $TOKEN" | grep -q '"id"' && break
  sleep 0.2
done`

// Waits until the receiver has verified the webhooks of both leads: one from curl, and one from Node.
const bothVerified = `for i in $(seq 300); do
  [ "$(grep -o 'verified: lead' "$LEADWIRE_DATA/out" | wc -l)" = 2 ] && break
  sleep 0.2
done`

// Sends a webhook without a signature, as anybody can. The receiver must refuse it.
const unsigned = `curl -s -d '{"data":{}}' -w 'unsigned: %{http_code}' "http://127.0.0.1:$WEBHOOK_PORT/"`

const runs = (program: string) => spawnSync(program, ['--version']).status === 0
const LANGUAGES = [
  ['Node', 'node', 'receive.mjs'],
  ['Python', 'python3', 'receive.py'],
  ['PHP', 'php', 'receive.php'],
] as const

test.each(
  LANGUAGES.filter(([, program]) => runs(program)),
)('the commands of the README’s walk with a receiver in %s create, list, retrieve, attach, and verify a webhook', async (language, _, receiver) => {
  const script = (await walk(language))
    .replace('curl -sS "$BASE/manage/deliveries?lead', `${delivered}\n$&`)
    .replace('curl -sS -X DELETE', `${bothVerified}\n${unsigned}\n$&`)
  expect(script).toContain(`docs/walk/${receiver} & RECEIVER=$!`)
  const commands = `set -euo pipefail; trap 'kill $RECEIVER || true' EXIT; exec > >(tee "$LEADWIRE_DATA/out") 2>&1
    ${script}`
  const { stdout } = await promisify(execFile)('bash', ['-c', commands], {
    cwd: root,
    env: { ...process.env, LEADWIRE_DATA: data, WEBHOOK_PORT: String(await freePort()) },
    timeout: 110_000,
  })
  expect(stdout.match(/verified: lead \S+ from Ada Byron/g)).toHaveLength(2)
  expect(stdout).toContain('unsigned: 401')
  expect(stdout.match(/refused/g)).toHaveLength(1)
  expect(stdout).toContain('"per_page":20')
  expect(stdout).toContain('"file_name":"survey.txt"')
  expect(stdout).toMatch(/"attempts":\[\{"number":1,[^\]]*"status":200/)
  expect(stdout).toContain('downloaded: Three windows, one door.')
  expect(stdout).toMatch(/SHA1\(stdin\)= [0-9a-f]{40}|\b[0-9a-f]{40}\b/)
})
