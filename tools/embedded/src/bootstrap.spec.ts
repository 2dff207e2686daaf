import { execFileSync, type SpawnSyncOptions, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { repositoryRoot } from './paths'
import { eventually } from './process/eventually'
import { takeLock, waitForLock } from './process/kernel-lock.cjs'

// A clone in miniature, with a blank in its path: an npm that notes its calls and "installs" an nx that notes its own.
let clone: string
beforeEach(() => {
  clone = join(mkdtempSync(join(tmpdir(), 'bootstrap-')), 'a clone')
  write('package.json', '{}')
  write('package-lock.json', lockFile('1.0.0'))
  write('tools/embedded/package.json', '{"main":"dist/main.js"}')
  write('tools/embedded/src/main.ts', 'one')
  write('bin/npm', npm, 0o755)
  const sources = ['stack/options.cjs', 'process/kernel-lock.cjs'].map((path) => `tools/embedded/src/${path}`)
  for (const path of ['tools/bootstrap.mjs', ...sources]) {
    cpSync(join(repositoryRoot, path), join(clone, path))
  }
})
afterEach(() => rmSync(dirname(clone), { recursive: true }))

const lockFile = (version: string) =>
  JSON.stringify({
    packages: { '': {}, 'node_modules/nx': { version }, 'node_modules/x': { version, optional: true } },
  })

const npm = `#!${process.execPath}
const { appendFileSync, cpSync, mkdirSync, writeFileSync } = require('node:fs')
appendFileSync('calls', 'npm ' + process.argv[2] + '\\n')
console.log('npm speaks')
mkdirSync('node_modules/.bin', { recursive: true })
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
  // The limit only ends what hangs.
  const limit = { timeout: 100_000, killSignal: 'SIGKILL' } as const
  const result = spawnSync(process.execPath, line, {
    ...limit,
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

test('a fresh clone is installed and built, then the program runs; stdout is its alone', () => {
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

test('help and invalid options are answered before anything is installed', () => {
  const help = start('--help')
  expect(help).toMatchObject({ calls: [], status: 0, stderr: '' })
  expect(help.stdout).toContain('--webhook-url URL')
  const invalid = start('--replica', '2')
  expect(invalid).toMatchObject({ calls: [], status: 2, stdout: '' })
  expect(invalid.stderr).toBe("Unknown option '--replica'\nnpm start -- --help lists the options.\n")
})

test('when everything is there, nothing is done', () => {
  start()
  expect(start()).toMatchObject({ calls: [], stdout: 'started --replicas,2\n', stderr: '' })
})

test('a changed lock file installs again, unless somebody already did', () => {
  start()
  write('package-lock.json', lockFile('1.1.0'))
  const { calls, stderr } = start()
  expect(calls).toEqual([installs, builds])
  expect(stderr).toContain('installing dependencies: nx is not as package-lock.json asks')

  write('package-lock.json', `${lockFile('1.1.0')}\n`)
  expect(start().calls).toEqual([builds])
})

test('an installation that did not finish is made again', () => {
  start()
  rmSync(join(clone, 'node_modules/.package-lock.json'))
  rmSync(join(clone, 'node_modules/.leadwire-installed'))
  expect(start().calls).toContain(installs)
})

test('dependencies of another Node are installed again', () => {
  start()
  const stamp = join(clone, 'node_modules/.leadwire-installed')
  writeFileSync(stamp, readFileSync(stamp, 'utf8').replace(process.version, 'v18.0.0'))
  const { calls, stderr } = start()
  expect(calls).toContain(installs)
  expect(stderr).toContain('another Node')
})

test.each(['tools/embedded/src/main.ts', 'tsconfig.base.json'])('a change of %s builds again', (path) => {
  start()
  write(path, 'two')
  expect(start().calls).toEqual([builds])
})

test('a specification, a page or what the build wrote changes nothing that is built', () => {
  start()
  write('libs/console/dist/index.html', 'built')
  write('tools/embedded/src/main.spec.ts', 'new')
  write('tools/embedded/README.md', 'new')
  expect(start().calls).toEqual([])
})

test('what was built and is gone is built again', () => {
  start()
  rmSync(join(clone, 'tools/embedded/dist'), { recursive: true })
  expect(start()).toMatchObject({ calls: [builds], stdout: 'started --replicas,2\n' })
})

test('a build that fails says why, starts nothing, and is tried again', () => {
  write('broken', '')
  const { status, stdout, stderr } = start()
  expect([status, stdout]).toEqual([1, ''])
  expect(stderr).toContain('TS2322')
  rmSync(join(clone, 'broken'))
  expect(start()).toMatchObject({ calls: [builds], stdout: 'started --replicas,2\n' })
})

test('a lock that a killed start left is none, though its pid is alive by now', () => {
  write('.cache/bootstrap.lock', String(process.pid))
  expect(start()).toMatchObject({ status: 5, calls: [installs, builds] })
})

test('a second command waits while the first installs or builds, and says for whom', async () => {
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

test('an installation that outlives its killed command keeps others waiting', async () => {
  const lock = join(clone, '.cache/bootstrap.lock')
  write(
    'bin/npm',
    `#!${process.execPath}\n
    require('node:fs').writeFileSync('npm.pid', String(process.pid)); setInterval(() => {}, 1e6)`,
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

test('paths are relative to where the caller is, under npm too, which runs its scripts in the root', () => {
  start()
  write('tools/leadwire/dist/main.js', 'console.log(process.cwd())')
  mkdirSync(join(clone, 'docs'))
  const called = { npm_lifecycle_event: 'leadwire', INIT_CWD: join(clone, 'docs') }
  expect(run('leadwire', [], { cwd: clone, env: called }).stdout).toBe(`${join(clone, 'docs')}\n`)
  expect(run('leadwire', [], { cwd: clone }).stdout).toBe(`${clone}\n`)
  // Not the caller of this script, but of one around it.
  const around = { ...called, npm_lifecycle_event: 'specs' }
  expect(run('leadwire', [], { cwd: clone, env: around }).stdout).toBe(`${clone}\n`)
})

describe('a user who can not write there', () => {
  const isRoot = process.getuid?.() === 0
  const asOther = (...args: string[]) => run('leadwire', args, isRoot ? { uid: 65534, gid: 65534 } : {})
  const takeAway = () => {
    write('tools/leadwire/dist/main.js', 'console.log("ran", process.argv.slice(2).join())')
    execFileSync('chmod', ['-R', 'a+rX,a-w', dirname(clone)])
  }
  afterEach(() => execFileSync('chmod', ['-R', 'u+w', dirname(clone)]))

  test('runs what is ready', () => {
    start()
    takeAway()
    expect(asOther('accounts', 'list')).toMatchObject({
      status: 0,
      stdout: 'ran accounts,list\n',
      stderr: '',
    })
  })

  test('is told what to do where it is not, and gets the help of an earlier build', () => {
    start()
    write('tools/embedded/src/main.ts', 'two')
    takeAway()
    expect(asOther('accounts', 'list')).toMatchObject({
      ...{ status: 1, stdout: '', calls: [] },
      stderr: `${clone} has to be installed or built first, and this user can't write there. Run "npm start" as its owner once, or use a checkout of your own.\n`,
    })
    expect(asOther('--help')).toMatchObject({ status: 0, stdout: 'ran --help\n', stderr: '' })
  })

  test('is told what to do on a fresh clone', () => {
    takeAway()
    expect(asOther('accounts', 'list').stderr).toContain("this user can't write there")
  })
})
