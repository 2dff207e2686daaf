import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'

const run = promisify(execFile)

const folder = join(__dirname, '../../generated-clients')
const binary = (name: string) => join(folder, 'node_modules/.bin', name)
const rootBinary = (name: string) => join(__dirname, '../../../../node_modules/.bin', name)

const answers = (program: string, args: string[]) => spawnSync(program, args).status === 0
const hasJava = answers('java', ['-version'])
const hasPython = hasJava && answers('python3', ['-m', 'pip', '--version'])
const hasPhp = hasJava && answers('php', ['-r', "require 'GuzzleHttp/autoload.php';"])

// It installs what it uses, and a generator fetches a program of its own.
jest.setTimeout(600_000)

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  await rm(join(folder, 'out'), { recursive: true, force: true })
  await mkdir(join(folder, 'out'))
  const document = await tenant.client.request('GET', '/openapi.json', { token: '' })
  await writeFile(join(folder, 'out/openapi.json'), document.text)
  if (existsSync(binary('redocly'))) return
  await run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder })
})
afterAll(() => stage.stop())

const inFolder = (program: string, args: string[], env: NodeJS.ProcessEnv = {}) =>
  run(program, args, { cwd: folder, env: { ...process.env, ...env }, maxBuffer: 64 * 1024 * 1024 })

/** Runs a program that uses a client; what it prints has to be what it made. */
const succeeds = async (program: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
  const account = await stage.newTenant()
  const { stdout } = await inFolder(program, args, {
    BASE_URL: stage.system.baseUrl,
    TOKEN: account.token,
    ...env,
  })
  const { json } = await account.client.request<{ data: { reference: string }[] }>('GET', '/leads')
  expect(json.data).toHaveLength(1)
  expect(JSON.parse(stdout)).toEqual({
    listed: json.data.map(({ reference }) => reference),
    email: 'ada@example.com',
    file: 'notes',
  })
}

test('linters find nothing to warn of', async () => {
  const redocly = await inFolder(binary('redocly'), ['lint', '--format=json', 'out/openapi.json'])
  expect(JSON.parse(redocly.stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] })
  const args = ['lint', '--fail-severity=hint', '--format=json', 'out/openapi.json']
  const spectral = await inFolder(binary('spectral'), args)
  expect(spectral.stdout).toMatch(/^\[\]|^No results/)
})

test('no generator has to make up a name for a body', async () => {
  const document = await tenant.client.request('GET', '/openapi.json', { token: '' })
  const bodies = [
    ...document.text.matchAll(/"content":\{"application\/(?!x-ndjson)[a-z+-]+":\{"schema":\{"([^"]+)"/g),
  ]
  expect(bodies.length).toBeGreaterThan(40)
  expect(new Set(bodies.map(([, key]) => key))).toEqual(new Set(['$ref']))
})

test('clients of openapi-typescript and @hey-api/openapi-ts compile and work', async () => {
  await inFolder(binary('openapi-typescript'), ['out/openapi.json', '-o', 'out/openapi-typescript/schema.ts'])
  await inFolder(binary('openapi-ts'), ['-i', './out/openapi.json', '-o', 'out/hey-api'])
  await inFolder(rootBinary('tsc'), ['-p', '.'])
  for (const name of ['use-openapi-fetch', 'use-hey-api']) {
    const bundle = `out/${name}.mjs`
    await inFolder(rootBinary('esbuild'), [
      `${name}.ts`,
      '--bundle',
      '--platform=node',
      '--format=esm',
      `--outfile=${bundle}`,
    ])
    await succeeds(process.execPath, [bundle])
  }
})

test('@leadwire/client has the types of this document', async () => {
  const generated = await readFile(join(folder, 'out/openapi-typescript/schema.ts'), 'utf8')
  const shipped = await readFile(join(folder, '../../../libs/client/src/generated/schema.ts'), 'utf8')
  if (shipped !== generated)
    throw new Error(
      'Renew them: cp tools/e2e/generated-clients/out/openapi-typescript/schema.ts libs/client/src/generated/',
    )
})

const generate = (language: string, ...args: string[]) =>
  inFolder(binary('openapi-generator-cli'), [
    ...['generate', '-i', 'out/openapi.json', '-g', language, '-o', `out/${language}`, ...args],
  ])

/** A test where its programs are; elsewhere one that is skipped and says so. */
const testWhere = (there: boolean, missing: string) => (name: string, body: () => Promise<void>) =>
  there ? test(name, body) : test.skip(`${name} (skipped: there is no ${missing})`, body)

testWhere(hasPython, 'java, or no python3 with pip')(
  'a Python client of openapi-generator works',
  async () => {
    await generate('python', '--additional-properties=packageName=leadwire_client')
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--target=out/python/packages']
    await inFolder('python3', [...pip, '-r', 'out/python/requirements.txt'])
    const PYTHONPATH = [join(folder, 'out/python'), join(folder, 'out/python/packages')].join(':')
    await inFolder('python3', ['-m', 'compileall', '-q', 'out/python/leadwire_client'])
    await succeeds('python3', ['use_client.py'], { PYTHONPATH })
  },
)

testWhere(hasPhp, 'java, or no php with guzzle')('a PHP client of openapi-generator works', async () => {
  await generate('php')
  await succeeds('php', ['use-client.php'])
})
