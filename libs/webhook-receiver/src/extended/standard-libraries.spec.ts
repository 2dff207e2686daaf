import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageFolder, vectors } from '../vectors.fixture'

const NPM_VERSION = '1.1.1'
const PYPI_VERSION = '1.1.0'

// The limit is high, because installing from a registry takes long on a busy machine.
jest.setTimeout(180_000)

const signed = vectors.filter(({ name }) =>
  /^a lead, |base64 (has|lacks) its padding$|lacks one character of padding$/.test(name),
)

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-standard-webhooks-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const run = (program: string, ...args: string[]) => {
  const env = { ...process.env, VECTORS: join(packageFolder, 'vectors.json') }
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd: folder, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${program} ${args.join(' ')}: ${error ?? `${stdout}${stderr}`}`)
  return stdout
}

const names = JSON.stringify(signed.map(({ name }) => name))
const expected = signed.map(({ standard_signature }) => `${standard_signature}\n`).join('')

it('has a vector for each form of a decoded secret', () => expect(signed).toHaveLength(4))

it('standardwebhooks of npm signs as the vectors do', () => {
  writeFileSync(join(folder, 'package.json'), '{}')
  run('npm', 'install', '--silent', '--ignore-scripts', `standardwebhooks@${NPM_VERSION}`)
  const program = `
    const { vectors } = JSON.parse(require('node:fs').readFileSync(process.env.VECTORS))
    const { Webhook } = require('standardwebhooks')
    for (const vector of vectors.filter(({ name }) => ${names}.includes(name))) {
      const at = new Date(vector.now * 1000)
      console.log(new Webhook(vector.secret).sign(vector.id, at, vector.body_text))
    }`
  expect(run(process.execPath, '--eval', program)).toBe(expected)
})

const hasPip = spawnSync('python3', ['-m', 'pip', '--version']).status === 0
const whenPip = hasPip ? it : it.skip
const skipped = hasPip ? '' : ' (skipped: there is no python3 with pip on this machine)'
whenPip(`standardwebhooks of PyPI signs as the vectors do${skipped}`, () => {
  const packages = `standardwebhooks==${PYPI_VERSION}`
  run('python3', '-m', 'pip', 'install', '--quiet', '--no-compile', '--target=packages', packages)
  const program = `
import datetime, json, os, sys
sys.path.insert(0, "packages")
from standardwebhooks import Webhook
with open(os.environ["VECTORS"], encoding="utf-8") as file:
    vectors = json.load(file)["vectors"]
for vector in vectors:
    if vector["name"] in ${names}:
        at = datetime.datetime.fromtimestamp(vector["now"], datetime.timezone.utc)
        print(Webhook(vector["secret"]).sign(vector["id"], at, vector["body_text"]))
`
  expect(run('python3', '-c', program)).toBe(expected)
})
