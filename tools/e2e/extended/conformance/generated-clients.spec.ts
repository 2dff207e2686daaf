import { execFile, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

const run = promisify(execFile)

const folder = join(__dirname, '../../generated-clients')
const binary = (name: string) => join(folder, 'node_modules/.bin', name)
const rootBinary = (name: string) => join(__dirname, '../../../../node_modules/.bin', name)

const answers = (program: string, args: string[]) => spawnSync(program, args).status === 0
const hasJava = answers('java', ['-version'])
const hasMaven = hasJava && answers('mvn', ['--version'])
const hasGo = hasJava && answers('go', ['version'])
const hasPython = hasJava && answers('python3', ['-m', 'pip', '--version'])
const hasPhp = hasJava && answers('php', ['-r', "require 'GuzzleHttp/autoload.php';"])

// Allows half an hour, because this file installs packages and a generator downloads a program. Beside another
// test run, the Java clients alone took more than ten minutes.
jest.setTimeout(1_800_000)

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  await rm(join(folder, 'out'), { recursive: true, force: true })
  await mkdir(join(folder, 'out'))
  const document = await tenant.client.request('GET', '/openapi.json', { token: '' })
  await writeFile(join(folder, 'out/openapi.json'), document.text)
  // Reuses an installation that has ky, the package that was added to package.json last. An installation
  // without ky is outdated or incomplete.
  if (existsSync(join(folder, 'node_modules/ky'))) return
  await run('npm', ['ci', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: folder })
})
afterAll(() => stage.stop())

const inFolder = (program: string, args: string[], env: NodeJS.ProcessEnv = {}) =>
  // Sets PWD, because openapi-generator-cli reads its version from openapitools.json in PWD. Without this
  // file, it would use the newest version.
  run(program, args, {
    cwd: folder,
    env: { ...process.env, PWD: folder, ...env },
    maxBuffer: 64 * 1024 * 1024,
  })

/** Runs a program that uses a client. Expects that the program prints the records that it has created. */
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
  return { account, reference: json.data[0]!.reference }
}

/** Bundles a program in TypeScript and runs it. */
const succeedsBundled = async (name: string) => {
  const bundle = `out/${name}.mjs`
  const options = ['--bundle', '--platform=node', '--format=esm', `--outfile=${bundle}`]
  await inFolder(rootBinary('esbuild'), [`${name}.ts`, ...options])
  await succeeds(process.execPath, [bundle])
}

test('linters report nothing', async () => {
  const redocly = await inFolder(binary('redocly'), ['lint', '--format=json', 'out/openapi.json'])
  expect(JSON.parse(redocly.stdout)).toMatchObject({ totals: { errors: 0, warnings: 0 }, problems: [] })
  const args = ['lint', '--fail-severity=hint', '--format=json', 'out/openapi.json']
  const spectral = await inFolder(binary('spectral'), args)
  expect(spectral.stdout).toMatch(/^\[\]|^No results/)
})

test('every body has a named schema, so that generators need not invent names', async () => {
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
  await succeedsBundled('use-openapi-fetch')
  await succeedsBundled('use-hey-api')
})

test('@leadwire/client has the types of this document', async () => {
  const generated = await readFile(join(folder, 'out/openapi-typescript/schema.ts'), 'utf8')
  const shipped = await readFile(join(folder, '../../../libs/client/src/generated/schema.ts'), 'utf8')
  if (shipped !== generated)
    throw new Error(
      'The types are outdated. Run: cp tools/e2e/generated-clients/out/openapi-typescript/schema.ts libs/client/src/generated/',
    )
})

/** The clients that openapi-generator generates, by their folders in `out`. */
const GENERATED: Record<string, { generatorName: string; properties?: object; module?: [string, string] }> = {
  'java-native': { generatorName: 'java', properties: { library: 'native', artifactId: 'java-native' } },
  'java-okhttp-gson': {
    generatorName: 'java',
    properties: { library: 'okhttp-gson', artifactId: 'java-okhttp-gson' },
  },
  'java-resttemplate': {
    generatorName: 'java',
    properties: { library: 'resttemplate', artifactId: 'java-resttemplate' },
  },
  kotlin: { generatorName: 'kotlin' },
  go: { generatorName: 'go', properties: { packageName: 'leadwire' }, module: ['leadwire', 'client'] },
  'typescript-fetch': { generatorName: 'typescript-fetch' },
  python: { generatorName: 'python', properties: { packageName: 'leadwire_client' } },
  php: { generatorName: 'php' },
}

let generated: Promise<unknown> | undefined

/** Generates all clients at the first call, in one process. Every call waits until they are generated. */
const generate = () => {
  generated ??= generateAll()
  return generated
}

const generateAll = async () => {
  for (const [name, { generatorName, properties, module: [owner, repository] = [] }] of Object.entries(
    GENERATED,
  )) {
    const settings = {
      generatorName,
      inputSpec: 'out/openapi.json',
      outputDir: `out/${name}`,
      additionalProperties: properties ?? {},
      gitHost: 'leadwire.test',
      gitUserId: owner,
      gitRepoId: repository,
    }
    await writeFile(join(folder, `out/${name}.json`), JSON.stringify(settings))
  }
  const settings = Object.keys(GENERATED).map((name) => `out/${name}.json`)
  await inFolder(binary('openapi-generator-cli'), ['batch', '--fail-fast', '--threads', '2', ...settings])
}

/** Defines a test that runs concurrently with others. Skips it with a reason if its programs are missing. */
const testWhere = (there: boolean, missing: string) => (name: string, body: () => Promise<void>) =>
  there ? test.concurrent(name, body) : test.skip(`${name} (skipped: there is no ${missing})`, body)

testWhere(hasMaven, 'java or mvn')(
  'Java and Kotlin clients of openapi-generator compile and work',
  async () => {
    await generate()
    const dependencies = ['dependency:copy-dependencies', '-DincludeScope=runtime']
    await inFolder('mvn', ['--quiet', '--batch-mode', '-T2', 'compile', ...dependencies])
    const classes = ['out/java-native/target/classes', 'out/java-native/target/dependency/*']
    await succeeds('java', ['-cp', classes.join(':'), 'UseClient.java'])
  },
)

testWhere(hasGo, 'java or go')('a Go client of openapi-generator compiles and works', async () => {
  await generate()
  await mkdir(join(folder, 'out/go/use'))
  await copyFile(join(folder, 'use_client.go'), join(folder, 'out/go/use/main.go'))
  // Overrides the settings of the user's own Go installation, which would change the build.
  const env = { GOFLAGS: '-mod=mod', GOWORK: 'off' }
  await inFolder('go', ['-C', 'out/go', 'build', '-o', 'use-client', './use'], env)
  await succeeds('out/go/use-client', [])
})

testWhere(hasJava, 'java')('a TypeScript client of openapi-generator compiles and works', async () => {
  await generate()
  await inFolder(rootBinary('tsc'), ['-p', 'tsconfig.typescript-fetch.json'])
  await succeedsBundled('use-typescript-fetch')
})

testWhere(hasPython, 'java, or no python3 with pip')(
  'a Python client of openapi-generator works',
  async () => {
    await generate()
    const pip = ['-m', 'pip', 'install', '--quiet', '--no-compile', '--target=out/python/packages']
    await inFolder('python3', [...pip, '-r', 'out/python/requirements.txt'])
    const PYTHONPATH = [join(folder, 'out/python'), join(folder, 'out/python/packages')].join(':')
    await inFolder('python3', ['-m', 'compileall', '-q', 'out/python/leadwire_client'])
    await succeeds('python3', ['use_client.py'], { PYTHONPATH })
  },
)

testWhere(hasPhp, 'java, or no php with guzzle')('a PHP client of openapi-generator works', async () => {
  await generate()
  await succeeds('php', ['use-client.php'])
})

/**
 * Runs a program that follows the README's walkthrough with an HTTP library. Checks the name of the attached
 * file.
 */
const walks = async (program: string, args: string[], env: NodeJS.ProcessEnv = {}) => {
  const { account, reference } = await succeeds(program, args, env)
  const path = `/leads/${reference}/attachments`
  const attachments = await account.client.request<{ data: { id: number }[] }>('GET', path)
  const { headers } = await account.client.request('GET', `${path}/${attachments.json.data[0]!.id}`)
  expect(headers['content-disposition']).toContain("UTF-8''24%22%20Gr%C3%BC%C3%9Fe.txt")
}

test.concurrent.each(['axios', 'got', 'ky', 'undici'])('%s completes the walk', async (library) => {
  await walks(process.execPath, ['walks/walk.mjs', library])
})

testWhere(answers('python3', ['-m', 'pip', '--version']), 'python3 with pip')(
  'requests, httpx and aiohttp complete the walk',
  async () => {
    const versions = ['requests==2.32.5', 'httpx==0.28.1', 'aiohttp==3.13.2']
    await inFolder('python3', ['-m', 'pip', 'install', '--quiet', '--target=out/walk-packages', ...versions])
    const PYTHONPATH = join(folder, 'out/walk-packages')
    for (const library of ['requests', 'httpx', 'aiohttp'])
      await walks('python3', ['walks/walk.py', library], { PYTHONPATH })
  },
)

testWhere(answers('go', ['version']), 'go')('Go completes the walk', async () => {
  await walks('go', ['run', 'walks/walk.go'])
})

testWhere(answers('ruby', ['--version']), 'ruby')('Ruby completes the walk', async () => {
  await walks('ruby', ['walks/walk.rb'])
})

testWhere(answers('php', ['--version']), 'php')("PHP's own streams complete the walk", async () => {
  await walks('php', ['walks/walk.php', 'streams'])
})

testWhere(answers('php', ['-r', "require 'GuzzleHttp/autoload.php';"]), 'php with guzzle')(
  'Guzzle completes the walk',
  async () => {
    await walks('php', ['walks/walk.php', 'guzzle'])
  },
)
