import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { repositoryRoot } from '../paths'
import { eventually } from '../process/eventually'

// The clone has two workspaces, and two versions of the package `left`: one in node_modules and one in
// apps/one/node_modules. The real npm installs from a registry that this spec runs. The package `nx` "builds"
// a program that prints both versions.
const PACKAGES: Record<string, Record<string, string>> = {
  left: { 'index.js': 'module.exports = require("./package.json").version' },
  nx: {
    'nx.js': `#!/usr/bin/env node
const { mkdirSync, writeFileSync } = require('node:fs')
for (const folder of ['apps/one', 'tools/embedded']) mkdirSync(folder + '/dist', { recursive: true })
writeFileSync('apps/one/dist/main.js', 'module.exports = require("left")')
writeFileSync('tools/embedded/dist/main.js', 'console.log(require("left"), require("@leadwire/one"))')
`,
  },
}
const ANOTHER_DEVICE = '/dev/shm'

type Mode = 'serves' | 'is silent' | 'sends no tarballs'
interface Result {
  status: number | null
  signal: NodeJS.Signals | null
  stdout: string
  stderr: string
}

let folder: string
let clone: string
let server: Server
let registry: string
let mode: Mode
let requests: string[]
const running: ChildProcess[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-install-'))
  await startRegistry()
  for (const version of ['1.0.0', '1.1.0']) await makeManifests(version)
}, 300_000)

beforeEach(() => {
  mode = 'serves'
  requests = []
  clone = join(folder, 'a clone')
  const options = 'tools/embedded/src/stack/options.cjs'
  for (const path of ['.npmrc', 'tools/bootstrap.mjs', 'tools/bootstrap', options]) {
    cpSync(join(repositoryRoot, path), join(clone, path), { recursive: true })
  }
  const lock = 'tools/embedded/src/process/kernel-lock.cjs'
  cpSync(join(repositoryRoot, lock), join(clone, lock))
  checkOut('1.0.0')
})

afterEach(() => {
  for (const child of running.splice(0)) killGroup(child)
  rmSync(clone, { recursive: true, force: true, maxRetries: 5 })
})

afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
})

async function startRegistry(): Promise<void> {
  server = createServer(async (request, response) => {
    const url = request.url!
    requests.push(url)
    if (mode === 'is silent') return
    const [, name, version] = /^\/(\w+)(?:-(.*)\.tgz)?$/.exec(url) ?? []
    if (version && mode === 'sends no tarballs') return
    if (url.startsWith('/-/ping')) response.end('{}')
    else if (version) response.end(await makeTarball(name!, version))
    else response.end(JSON.stringify(await describePackage(name!)))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  registry = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function describePackage(name: string): Promise<object> {
  const versions: Record<string, object> = {}
  for (const version of ['1.0.0', '1.1.0', '2.0.0', '2.1.0']) {
    const integrity = `sha512-${createHash('sha512')
      .update(await makeTarball(name, version))
      .digest('base64')}`
    versions[version] = {
      ...makePackageJson(name, version),
      dist: { integrity, tarball: `${registry}/${name}-${version}.tgz` },
    }
  }
  return { name, 'dist-tags': { latest: '1.0.0' }, versions }
}

const makePackageJson = (name: string, version: string) => ({
  name,
  version,
  scripts: { postinstall: 'touch script-ran' },
  ...(name === 'nx' && { bin: { nx: 'nx.js' } }),
})

async function makeTarball(name: string, version: string): Promise<Buffer> {
  const path = join(folder, `${name}-${version}.tgz`)
  if (existsSync(path)) return readFileSync(path)
  const content = join(folder, 'tarballs', `${name}-${version}`)
  mkdirSync(join(content, 'package'), { recursive: true })
  const files = { ...PACKAGES[name], 'package.json': JSON.stringify(makePackageJson(name, version)) }
  for (const [file, text] of Object.entries(files)) writeFileSync(join(content, 'package', file), text)
  const tar = spawn('tar', ['-czf', path, '-C', content, 'package'])
  await once(tar, 'close')
  return readFileSync(path)
}

/** Writes the package.json files and the lock file of one release of the clone. `checkOut` copies them. */
async function makeManifests(version: string): Promise<void> {
  const nested = version.replace('1.', '2.')
  const root = {
    private: true,
    workspaces: ['apps/*', 'tools/*'],
    dependencies: { left: version, nx: '1.0.0' },
    allowScripts: { left: false, nx: true },
  }
  const one = {
    name: '@leadwire/one',
    version: '1.0.0',
    main: 'dist/main.js',
    dependencies: { left: nested },
  }
  const embedded = { name: '@leadwire/embedded', version: '1.0.0', main: 'dist/main.js' }
  const manifests = { '.': root, 'apps/one': one, 'tools/embedded': embedded }
  const release = join(folder, `release ${version}`)
  for (const [path, manifest] of Object.entries(manifests)) {
    mkdirSync(join(release, path), { recursive: true })
    writeFileSync(join(release, path, 'package.json'), JSON.stringify(manifest))
  }
  mode = 'serves'
  requests = []
  const npmArgs = ['install', '--package-lock-only', '--omit-lockfile-registry-resolved', '--no-audit']
  await promisify(execFile)('npm', npmArgs, { cwd: release, env: makeEnvironment() })
}

function checkOut(version: string): void {
  cpSync(join(folder, `release ${version}`), clone, { recursive: true })
}

function makeEnvironment(env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return {
    ...process.env,
    npm_execpath: '',
    npm_config_userconfig: join(folder, 'no npmrc'),
    npm_config_cache: join(folder, 'npm cache'),
    npm_config_registry: registry,
    ...env,
  }
}

/**
 * Returns settings with which npm gets no packages: nothing listens at the registry, and the cache is empty.
 */
const makeUnreachable = () => ({
  npm_config_registry: 'http://127.0.0.1:9',
  npm_config_cache: join(clone, '.cache/empty'),
})

/** Starts the command in a separate process group. */
function spawnStart(env: NodeJS.ProcessEnv): ChildProcess {
  const child = spawn(process.execPath, [join(clone, 'tools/bootstrap.mjs'), 'start'], {
    env: makeEnvironment(env),
    detached: true,
  })
  running.push(child)
  return child
}

async function start(env: NodeJS.ProcessEnv = {}): Promise<Result> {
  const child = spawnStart(env)
  let stdout = ''
  let stderr = ''
  child.stdout!.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr!.on('data', (chunk) => {
    stderr += chunk
  })
  const [status, signal] = await once(child, 'close')
  return { status, signal, stdout, stderr }
}

/** Kills a command and the npm that it runs, like a power cut. */
function killGroup(child: ChildProcess): void {
  try {
    process.kill(-child.pid!, 'SIGKILL')
  } catch {
    // The whole group has ended.
  }
}

/** Changes the version of Node that node_modules was installed for. */
function pretendAnotherNode(): void {
  const stamp = join(clone, 'node_modules/.leadwire-installed')
  writeFileSync(stamp, readFileSync(stamp, 'utf8').replace(process.version, 'v18.0.0'))
}

const identify = (path: string) => statSync(join(clone, path)).ino
const leftovers = () => existsSync(join(clone, '.cache/install'))

test('installs the packages of the root and of a workspace with working links, and leaves no other files', async () => {
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(leftovers()).toBe(false)
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n', stderr: '' })
})

const listScriptsThatRan = () =>
  ['left', 'nx'].filter((name) => existsSync(join(clone, 'node_modules', name, 'script-ran')))

test('runs the install scripts of allowed packages, and no others', async () => {
  expect(await start()).toMatchObject({ status: 0 })
  expect(listScriptsThatRan()).toEqual(['nx'])
})

test('runs the allowed install scripts after an `npm ci` of the user, which runs none', async () => {
  await promisify(execFile)('npm', ['ci', '--no-audit'], { cwd: clone, env: makeEnvironment() })
  expect(listScriptsThatRan()).toEqual([])
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(listScriptsThatRan()).toEqual(['nx'])
})

test('another Node installs again if the registry responds', async () => {
  await start()
  pretendAnotherNode()
  const before = identify('node_modules')
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(identify('node_modules')).not.toBe(before)
  expect(await start()).toMatchObject({ status: 0, stderr: '' })
})

test('another Node uses the existing installation if nothing listens at the registry', async () => {
  await start()
  pretendAnotherNode()
  const before = identify('node_modules')
  const { status, stdout, stderr } = await start(makeUnreachable())
  expect({ status, stdout }).toEqual({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(stderr).toContain(
    `leadwire: node_modules was installed for another Node (v18.0.0, this is ${process.version}); ` +
      "http://127.0.0.1:9/ cannot be reached (ECONNREFUSED); npm's cache is not enough (ENOTCACHED). " +
      'This run uses the existing installation.\n',
  )
  expect(stderr).not.toContain('npm error')
  expect(identify('node_modules')).toBe(before)
  expect(leftovers()).toBe(false)
})

test('another Node uses the existing installation if the registry never responds', async () => {
  await start()
  pretendAnotherNode()
  mode = 'is silent'
  const { status, stdout, stderr } = await start({ npm_config_cache: join(clone, '.cache/empty') })
  expect({ status, stdout }).toEqual({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(stderr).toContain(
    `${registry}/ did not respond within 5 s; npm's cache is not enough (ENOTCACHED). `,
  )
})

test('installs from the cache of npm if the registry never responds', async () => {
  mode = 'is silent'
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
})

test('without a registry, a changed lock file fails with advice, and the old lock file still runs', async () => {
  await start()
  checkOut('1.1.0')
  const { status, stdout, stderr } = await start(makeUnreachable())
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toContain(
    'leadwire: cannot install dependencies: left does not match package-lock.json; http://127',
  )
  expect(stderr).toContain('Run the command again when npm can install from its registry')
  checkOut('1.0.0')
  expect(await start(makeUnreachable())).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
})

test('without a registry, a fresh clone fails with advice', async () => {
  const { status, stderr } = await start(makeUnreachable())
  expect(status).toBe(1)
  expect(stderr).toContain(
    'cannot install dependencies: there is no node_modules; http://127.0.0.1:9/ cannot be',
  )
})

test('a command that is killed while npm installs changes nothing, and the next one removes its files', async () => {
  await start()
  checkOut('1.1.0')
  mode = 'sends no tarballs'
  const child = spawnStart({ npm_config_cache: join(clone, '.cache/empty') })
  await eventually(() => expect(requests).toContain('/left-1.1.0.tgz'))
  killGroup(child)
  await once(child, 'close')
  expect(leftovers()).toBe(true)
  checkOut('1.0.0')
  expect(await start()).toMatchObject({ status: 0, stdout: '1.0.0 2.0.0\n' })
  expect(leftovers()).toBe(false)
  mode = 'serves'
  checkOut('1.1.0')
  expect(await start()).toMatchObject({ status: 0, stdout: '1.1.0 2.1.0\n' })
})

// Each round kills the command before the next rename or removal.
test('the next command finishes a replacement of node_modules that a kill interrupted', async () => {
  await start()
  const installed = join(folder, 'installed')
  cpSync(clone, installed, { recursive: true, verbatimSymlinks: true })
  const preload = join(folder, 'kill.cjs')
  writeFileSync(
    preload,
    `const fs = require('node:fs')
    let step = 0
    for (const name of ['renameSync', 'rmSync']) {
      const original = fs[name]
      fs[name] = (...args) => {
        step += 1
        if (step === Number(process.env.KILL_AT)) process.kill(process.pid, 'SIGKILL')
        return original(...args)
      }
    }
    require('node:module').syncBuiltinESMExports()`,
  )
  let rounds = 0
  for (;;) {
    rmSync(clone, { recursive: true })
    cpSync(installed, clone, { recursive: true, verbatimSymlinks: true })
    checkOut('1.1.0')
    const killed = await start({ NODE_OPTIONS: `--require "${preload}"`, KILL_AT: String(rounds + 1) })
    const next = await start()
    expect({ rounds, ...next }).toMatchObject({ rounds, status: 0, stdout: '1.1.0 2.1.0\n' })
    expect(leftovers()).toBe(false)
    if (killed.signal === null) break
    rounds += 1
  }
  // Each of the two folders needs two renames: the old one out and the new one in.
  expect(rounds).toBeGreaterThanOrEqual(4)
}, 600_000)

const isAnotherDevice = existsSync(ANOTHER_DEVICE) && statSync(ANOTHER_DEVICE).dev !== statSync(tmpdir()).dev
const testAcrossDevices = isAnotherDevice ? test : test.skip

testAcrossDevices('installs in place if folders cannot be renamed across file systems', async () => {
  await start()
  const elsewhere = mkdtempSync(join(ANOTHER_DEVICE, 'leadwire-install-'))
  rmSync(join(clone, '.cache'), { recursive: true })
  symlinkSync(elsewhere, join(clone, '.cache'))
  checkOut('1.1.0')
  const { status, stdout, stderr } = await start()
  rmSync(elsewhere, { recursive: true })
  expect({ status, stdout }).toEqual({ status: 0, stdout: '1.1.0 2.1.0\n' })
  expect(stderr).toContain('installing in place, because EXDEV')
})
