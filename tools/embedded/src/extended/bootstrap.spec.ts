import { execFileSync, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { repositoryRoot } from '../paths'
import { eventually } from '../process/eventually'
import { takeLock, waitForLock } from '../process/kernel-lock.cjs'

// A miniature clone with a space in its path. Its fake npm records its calls and "installs" a fake nx that
// records its own calls. The fake npm reaches no registry while the clone has a file `offline`.
let clone: string
beforeEach(() => {
  clone = join(mkdtempSync(join(tmpdir(), 'bootstrap-')), 'a clone')
  write('package.json', '{}')
  write('package-lock.json', lockFile('1.0.0'))
  write('tools/embedded/package.json', '{"main":"dist/main.js"}')
  write('tools/embedded/src/main.ts', 'one')
  write('bin/npm', npm, 0o755)
  const sources = ['stack/options.cjs', 'process/kernel-lock.cjs'].map((path) => `tools/embedded/src/${path}`)
  for (const path of ['tools/bootstrap.mjs', 'tools/bootstrap', ...sources]) {
    cpSync(join(repositoryRoot, path), join(clone, path), { recursive: true })
  }
})
afterEach(() => rmSync(dirname(clone), { recursive: true }))

const lockFile = (version: string) =>
  JSON.stringify({
    packages: { '': {}, 'node_modules/nx': { version }, 'node_modules/x': { version, optional: true } },
  })

const npm = `#!${process.execPath}
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs')
const clone = require('node:path').join(__dirname, '..')
if (existsSync(clone + '/offline')) {
  console.error('npm error code ECONNREFUSED')
  process.exit(1)
}
if (process.argv[2] === 'ping') process.exit(0)
appendFileSync(clone + '/calls', 'npm ' + process.argv[2] + '\\n')
console.log('npm speaks')
mkdirSync('node_modules/.bin', { recursive: true })
mkdirSync('node_modules/nx')
writeFileSync('node_modules/nx/package.json', '{}')
const { packages } = JSON.parse(require('node:fs').readFileSync('package-lock.json'))
writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/nx': packages['node_modules/nx'] } }))
writeFileSync('node_modules/.bin/nx', \`
const { appendFileSync, existsSync, mkdirSync, writeFileSync } = require('node:fs')
appendFileSync('calls', 'nx ' + process.argv.slice(2, 5).join(' ') + '\\\\n')
console.log('nx speaks')
console.log('Running target build for 1 project and 1 task they depend on:')
console.log('> nx run contracts:generate')
console.log('> nx run embedded:build')
if (existsSync('broken')) { console.log('TS2322: no'); process.exit(1) }
mkdirSync('tools/embedded/dist', { recursive: true })
writeFileSync('tools/embedded/dist/main.js', 'console.log("started", process.argv.slice(2).join()); process.exit(5)')
\`)
`

function write(path: string, content: string, mode = 0o644): void {
  mkdirSync(dirname(join(clone, path)), { recursive: true })
  writeFileSync(join(clone, path), content, { mode })
}

const env = () => ({
  ...process.env,
  PATH: [join(clone, 'bin'), process.env['PATH']].join(delimiter),
  npm_execpath: '',
})

function start(...args: string[]): {
  status: number | null
  stdout: string
  stderr: string
  calls: string[]
} {
  return run('start', args.length > 0 ? args : ['--replicas', '2'])
}

function run(command: string, args: string[], options: SpawnSyncOptions = {}): ReturnType<typeof start> {
  rmSync(join(clone, 'calls'), { force: true })
  const line = [join(clone, 'tools/bootstrap.mjs'), command, ...args]
  const result = spawnSync(process.execPath, line, {
    // Only a command that hangs reaches this limit.
    timeout: 100_000,
    killSignal: 'SIGKILL',
    ...options,
    env: { ...env(), ...options.env },
  })
  const calls = existsSync(join(clone, 'calls'))
    ? readFileSync(join(clone, 'calls'), 'utf8').trim().split('\n')
    : []
  return { status: result.status, stdout: String(result.stdout), stderr: String(result.stderr), calls }
}

const installs = 'npm ci'
const builds = 'nx run-many -t build'

test('installs and builds a fresh clone, then runs the program; only the program writes to stdout', () => {
  const { status, stdout, stderr, calls } = start()
  expect(calls).toEqual([installs, builds])
  expect(stdout).toBe('started --replicas,2\n')
  expect(stderr).toContain('installing dependencies: there is no node_modules')
  expect(stderr).toContain(
    'building: 1 of 2 (contracts:generate)\nleadwire: building: 2 of 2 (embedded:build)',
  )
  expect(stderr).not.toContain('nx speaks')
  expect(status).toBe(5)
})

test('prints help and rejects invalid options before it installs anything', () => {
  const help = start('--help')
  expect(help).toMatchObject({ calls: [], status: 0, stderr: '' })
  expect(help.stdout).toContain('--webhook-url URL')
  const invalid = start('--replica', '2')
  expect(invalid).toMatchObject({ calls: [], status: 2, stdout: '' })
  expect(invalid.stderr).toBe(`Unknown option '--replica'\nRun "npm start -- --help" for the options.\n`)
})

test('installs and builds nothing if everything is up to date', () => {
  start()
  expect(start()).toMatchObject({ calls: [], stdout: 'started --replicas,2\n', stderr: '' })
})

test('installs again after a change of the lock file, unless the user has installed the packages', () => {
  start()
  write('package-lock.json', lockFile('1.1.0'))
  const { calls, stderr } = start()
  expect(calls).toEqual([installs, builds])
  expect(stderr).toContain('installing dependencies: nx does not match package-lock.json')

  write('package-lock.json', `${lockFile('1.1.0')}\n`)
  expect(start().calls).toEqual([builds])
})

test('repeats an installation that did not finish', () => {
  start()
  rmSync(join(clone, 'node_modules/.package-lock.json'))
  rmSync(join(clone, 'node_modules/.leadwire-installed'))
  expect(start().calls).toContain(installs)
})

/** Changes the version of Node that node_modules was installed for. */
function pretendInstalledFor(version: string): void {
  const stamp = join(clone, 'node_modules/.leadwire-installed')
  writeFileSync(stamp, readFileSync(stamp, 'utf8').replace(process.version, version))
}

test('installs again for another major version of Node', () => {
  start()
  pretendInstalledFor('v18.0.0')
  const { calls, stderr } = start()
  expect(calls).toContain(installs)
  expect(stderr).toContain('another Node (v18.0.0, this is v')
})

test('installs nothing for another minor version of Node', () => {
  start()
  pretendInstalledFor(process.version.replace(/\.\d+\.\d+$/, '.0.999'))
  expect(start()).toMatchObject({ calls: [], stdout: 'started --replicas,2\n', stderr: '' })
})

test('without a registry, runs the installation for another Node, and says why in one line', () => {
  start()
  pretendInstalledFor('v18.0.0')
  write('offline', '')
  const { calls, stdout, stderr } = start()
  expect({ calls, stdout }).toEqual({ calls: [], stdout: 'started --replicas,2\n' })
  expect(stderr).toContain(
    `leadwire: node_modules was installed for another Node (v18.0.0, this is ${process.version}); the package ` +
      "registry cannot be reached (ECONNREFUSED); npm's cache is not enough (ECONNREFUSED). This run uses the " +
      'existing installation.\n',
  )
})

test('without a registry, fails after a change of the lock file and keeps the installation', () => {
  start()
  write('package-lock.json', lockFile('1.1.0'))
  write('offline', '')
  const { status, stdout, stderr } = start()
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' })
  expect(stderr).toContain(
    'leadwire: cannot install dependencies: nx does not match package-lock.json; the package',
  )
  write('package-lock.json', lockFile('1.0.0'))
  expect(start()).toMatchObject({ calls: [builds], stdout: 'started --replicas,2\n' })
})

test.each([
  'tools/embedded/src/main.ts',
  'tsconfig.base.json',
])('builds again after a change of %s', (path) => {
  start()
  write(path, 'two')
  expect(start().calls).toEqual([builds])
})

test('does not build after a change of a spec, a document or the output of a build', () => {
  start()
  write('libs/console/dist/index.html', 'built')
  write('tools/embedded/src/main.spec.ts', 'new')
  write('tools/embedded/README.md', 'new')
  expect(start().calls).toEqual([])
})

test('builds again if the output of the build was deleted', () => {
  start()
  rmSync(join(clone, 'tools/embedded/dist'), { recursive: true })
  expect(start()).toMatchObject({ calls: [builds], stdout: 'started --replicas,2\n' })
})

test('prints why a build fails, starts nothing, and builds again on the next start', () => {
  write('broken', '')
  const { status, stdout, stderr } = start()
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain('TS2322')
  rmSync(join(clone, 'broken'))
  expect(start()).toMatchObject({ calls: [builds], stdout: 'started --replicas,2\n' })
})

test('ignores the lock file of a killed start, even if another process has its pid by now', () => {
  write('.cache/bootstrap.lock', String(process.pid))
  expect(start()).toMatchObject({ status: 5, calls: [installs, builds] })
})

test('a second command waits while the first one installs or builds, and names the first one', async () => {
  mkdirSync(join(clone, '.cache'))
  const lock = takeLock(join(clone, '.cache/bootstrap.lock'))!
  const second = spawn(process.execPath, [join(clone, 'tools/bootstrap.mjs'), 'start'], { env: env() })
  let stderr = ''
  second.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  await eventually(() => expect(stderr).toContain('waiting for another command that installs or builds here'))
  expect(stderr).toContain(`(pid ${process.pid} on `)
  lock.release()
  expect(await once(second, 'close')).toEqual([5, null])
})

test('other commands wait for an npm that outlives its killed command', async () => {
  const lock = join(clone, '.cache/bootstrap.lock')
  write(
    'bin/npm',
    `#!${process.execPath}\n
    if (process.argv[2] === 'ping') process.exit(0)
    require('node:fs').writeFileSync(__dirname + '/../npm.pid', String(process.pid)); setInterval(() => {}, 1e6)`,
    0o755,
  )
  const killed = spawn(process.execPath, [join(clone, 'tools/bootstrap.mjs'), 'start'], { env: env() })
  const npmPid = await eventually(() => {
    const pid = Number(readFileSync(join(clone, 'npm.pid'), 'utf8'))
    expect(pid).toBeGreaterThan(0)
    return pid
  })
  killed.kill('SIGKILL')
  await once(killed, 'exit')
  expect(takeLock(lock)).toBeUndefined()
  process.kill(npmPid, 'SIGKILL')
  ;(await waitForLock(lock)).release()
})

test('resolves paths from the current folder of the caller, although npm runs scripts in the root', () => {
  start()
  write('tools/leadwire/dist/main.js', 'console.log(process.cwd())')
  mkdirSync(join(clone, 'docs'))
  const called = { npm_lifecycle_event: 'leadwire', INIT_CWD: join(clone, 'docs') }
  expect(run('leadwire', [], { cwd: clone, env: called }).stdout).toBe(`${join(clone, 'docs')}\n`)
  expect(run('leadwire', [], { cwd: clone }).stdout).toBe(`${clone}\n`)
  // Here npm runs another script, which runs this command. npm has set INIT_CWD for the other script, so this
  // command ignores INIT_CWD.
  const around = { ...called, npm_lifecycle_event: 'specs' }
  expect(run('leadwire', [], { cwd: clone, env: around }).stdout).toBe(`${clone}\n`)
})

describe('a user without write access to the clone', () => {
  const isRoot = process.getuid?.() === 0
  const asOther = (...args: string[]) => run('leadwire', args, isRoot ? { uid: 65534, gid: 65534 } : {})
  const makeReadOnly = () => {
    write('tools/leadwire/dist/main.js', 'console.log("ran", process.argv.slice(2).join())')
    execFileSync('chmod', ['-R', 'a+rX,a-w', dirname(clone)])
  }
  afterEach(() => execFileSync('chmod', ['-R', 'u+w', dirname(clone)]))

  test('runs a program that is installed and built', () => {
    start()
    makeReadOnly()
    expect(asOther('accounts', 'list')).toMatchObject({
      status: 0,
      stdout: 'ran accounts,list\n',
      stderr: '',
    })
  })

  test('sees what to do if the build is outdated, and gets the help of the earlier build', () => {
    start()
    write('tools/embedded/src/main.ts', 'two')
    makeReadOnly()
    expect(asOther('accounts', 'list')).toMatchObject({
      status: 1,
      stdout: '',
      calls: [],
      stderr: `${clone} must be installed and built first, and this user can't write there. Run "npm start" as its owner once, or use a checkout of your own.\n`,
    })
    expect(asOther('--help')).toMatchObject({ status: 0, stdout: 'ran --help\n', stderr: '' })
  })

  test('sees what to do on a fresh clone', () => {
    makeReadOnly()
    expect(asOther('accounts', 'list').stderr).toContain("this user can't write there")
  })
})

// Without a checksum, npm installs whatever a registry sends. A URL at npmjs.org works for everybody, because
// npm replaces the host npmjs.org with the host of the user's registry. The private registry of the person
// who made the lock file may be out of reach for others.
test.each([
  'package-lock.json',
  'tools/e2e/generated-clients/package-lock.json',
])('%s has the checksum of each package, and its address at npmjs.org', (path) => {
  type Entry = { integrity?: string; resolved?: string; link?: boolean }
  const { packages } = JSON.parse(readFileSync(join(repositoryRoot, path), 'utf8'))
  const installed = Object.entries<Entry>(packages).filter(
    ([name, { link }]) => name.includes('node_modules/') && !link,
  )
  expect(installed.length).toBeGreaterThan(100)
  const isSafe = ({ integrity, resolved }: Entry) =>
    integrity?.startsWith('sha512-') && resolved?.startsWith('https://registry.npmjs.org/')
  expect(installed.filter(([, entry]) => !isSafe(entry)).map(([name]) => name)).toEqual([])
})
