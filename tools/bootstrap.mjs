// Behind every npm script: makes a clone ready (dependencies, build) as far as it isn't, then runs the thing itself in
// this very process, so that signals and exit codes need no passing on. Plain JavaScript without dependencies, since
// nothing else is there yet on a fresh clone.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const PROGRESS_MS = 5000
const INSTALLED = '.leadwire-installed'
const BUILT = '.leadwire-built'

const require = createRequire(import.meta.url)
const { waitForLock } = require('./embedded/src/process/kernel-lock.cjs')
const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const at = (...parts) => join(root, ...parts)
const [command, ...args] = process.argv.slice(2)

const programs = {
  start: 'tools/embedded/dist/main.js',
  dev: 'tools/embedded/dist/main.js',
  test: 'tools/test.cjs',
  matrix: 'tools/matrix.cjs',
  leadwire: 'tools/leadwire/dist/main.js',
  bench: 'tools/bench/dist/main.js',
  'crash-test': 'tools/crash-test/dist/main.js',
  fill: 'tools/fill/dist/main.js',
}

requireNode()
if (!(command in programs)) fail(`usage: npm run ${Object.keys(programs).join('|')}`)
// A typing error or a question must not wait for an installation.
if (programs[command] === programs.start) require('./embedded/src/stack/options.cjs').optionsOrExit(args)
// What is ready is run without a lock, and so by users who can't write here.
let lock
if (!isReady() && mayPrepare()) {
  lock = await lockFolder()
  await install()
  await build()
  lock.release()
}
run(at(programs[command]))

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24) return
  fail(`Leadwire needs Node 20.19 or newer, 22.12 or newer, or 24 and up; this is ${process.version}.`)
}

function isReady() {
  const read = (name) => tryTo(() => readFileSync(at('node_modules', name), 'utf8'))
  return read(INSTALLED) === installation() && read(BUILT) === fingerprint() && isBuilt()
}

/** Without write access help is what an earlier build says; everything else ends here with what to do. */
function mayPrepare() {
  const places = ['.cache', 'node_modules'].map((name) => (existsSync(at(name)) ? at(name) : root))
  if (places.every((path) => tryTo(() => accessSync(path, constants.W_OK) ?? true))) return true
  if (args.includes('--help') && existsSync(at(programs[command]))) return false
  fail(
    `${root} has to be installed or built first, and this user can't write there. ` +
      'Run "npm start" as its owner once, or use a checkout of your own.',
  )
}

/** Two commands on a fresh clone at once must not install over each other. */
function lockFolder() {
  let told = false
  return waitForLock(at('.cache/bootstrap.lock'), (holder) => {
    if (!told) say(`waiting for another command that installs or builds here (${holder})`)
    told = true
  }).catch((error) => fail(`leadwire: ${error.message}`))
}

async function install() {
  const stamp = at('node_modules', INSTALLED)
  const wanted = installation()
  const installed = tryTo(() => readFileSync(stamp, 'utf8'))
  if (installed === wanted) return
  const why = whyInstall(installed)
  if (why) {
    say(`installing dependencies: ${why}`)
    const packages = packagesToInstall()
    const startedAt = performance.now()
    const timer = setInterval(() => {
      const there = packages.filter((path) => existsSync(at(path, 'package.json'))).length
      const seconds = Math.round((performance.now() - startedAt) / 1000)
      say(
        `installing dependencies: ${there} of about ${packages.length} packages unpacked after ${seconds} s`,
      )
    }, PROGRESS_MS)
    // The build needs the development dependencies, whatever NODE_ENV or the user's npm settings say.
    await npm(['ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund', '--loglevel=error'])
    clearInterval(timer)
  }
  writeFileSync(stamp, wanted)
}

/** What an installation is made for. */
function installation() {
  const lockFile = readFileSync(at('package-lock.json'))
  return `${process.platform}-${process.arch} ${process.version} ${sha256(lockFile)}`
}

/** Why node_modules is not what package-lock.json asks for; undefined when it is, though another program put it there. */
function whyInstall(installed) {
  if (!existsSync(at('node_modules'))) return 'there is no node_modules'
  const present = tryTo(() => readJson(at('node_modules/.package-lock.json')).packages)
  if (!present) return 'an earlier installation did not finish'
  const locked = readJson(at('package-lock.json')).packages
  for (const [path, { version, link, optional, peer, inBundle }] of Object.entries(locked)) {
    if (!path.includes('node_modules/')) continue
    const found = present[path]
    if (found ? found.version !== version || found.link !== link : !optional && !peer && !inBundle) {
      return `${path.replace(/^.*node_modules\//, '')} is not as package-lock.json asks`
    }
  }
  if (
    installed &&
    !installed.startsWith(`${process.platform}-${process.arch} ${process.version.split('.')[0]}.`)
  ) {
    return 'it was made for another Node or machine'
  }
  return undefined
}

/** Where the packages of the lock file go, those for other systems left out. */
function packagesToInstall() {
  const fits = (allowed, own) => !allowed || allowed.includes(own)
  const { packages } = readJson(at('package-lock.json'))
  return Object.entries(packages)
    .filter(([, { os, cpu }]) => fits(os, process.platform) && fits(cpu, process.arch))
    .map(([path]) => path)
    .filter((path) => path.includes('node_modules/'))
}

async function build() {
  const stamp = at('node_modules', BUILT)
  const sources = fingerprint()
  if (tryTo(() => readFileSync(stamp, 'utf8')) === sources && isBuilt()) return
  say('building')
  let [done, all] = [0, 0]
  const onLine = (line) => {
    // Nx says first how much there is to do, then one line for each task that is done.
    const [, projects, others] =
      /Running target build for (\d+) projects?(?: and (\d+) tasks?)?/.exec(line) ?? []
    if (projects) all = Number(projects) + Number(others ?? 0)
    const task = /> nx run (\S+)/.exec(line)?.[1]
    if (task) say(`building: ${++done}${all ? ` of ${all}` : ''} (${task})`)
  }
  await nx(['run-many', '-t', 'build', '--output-style=static'], onLine)
  writeFileSync(stamp, sources)
}

/** Name, size and time of change of everything a build reads: some hundred files, a few milliseconds. */
function fingerprint() {
  const hash = createHash('sha256').update(process.version)
  const add = (path) => {
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path.slice(root.length)} ${size} ${mtimeMs}\n`)
  }
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      // What a build writes: it would else be newer after each build, and the next command would build again.
      if (['node_modules', 'dist', 'generated', 'coverage'].includes(entry.name)) continue
      if (entry.isDirectory()) walk(join(folder, entry.name))
      else if (entry.isFile() && !/\.(spec\.ts|fixture\.ts|md)$/.test(entry.name))
        add(join(folder, entry.name))
    }
  }
  for (const folder of ['apps', 'libs', 'tools']) if (existsSync(at(folder))) walk(at(folder))
  for (const file of ['package-lock.json', 'tsconfig.base.json', 'nx.json'])
    if (existsSync(at(file))) add(at(file))
  // The gateway's build makes pages of them.
  const guides = at('docs/guides')
  if (existsSync(guides)) for (const name of readdirSync(guides).sort()) add(join(guides, name))
  return hash.digest('hex')
}

/** Whether the folder of what each package runs is there. */
function isBuilt() {
  const packages = ['apps', 'libs', 'tools']
    .filter((folder) => existsSync(at(folder)))
    .flatMap((folder) => readdirSync(at(folder)).map((name) => at(folder, name)))
    .filter((directory) => existsSync(join(directory, 'package.json')))
  return packages.every((directory) => {
    const { main } = readJson(join(directory, 'package.json'))
    return !main || existsSync(join(directory, dirname(main)))
  })
}

function run(program) {
  // npm runs its scripts in the root: paths in arguments and settings are relative to where the caller is.
  process.chdir((process.env.npm_lifecycle_event === command && process.env.INIT_CWD) || '.')
  process.argv = [process.execPath, program, ...args]
  // import() would first read through the whole file for the names of its exports: 150 ms of every start.
  createRequire(program)(program)
}

async function npm(npmArgs) {
  const cli = process.env.npm_execpath
  const [program, first] = cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
  await execute(program, [...first, ...npmArgs])
}

/** The output goes to `onLine`, and is shown only when the command fails. */
async function nx(nxArgs, onLine) {
  // The daemon would outlive the command, and the terminal interface hides what failed.
  const env = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false' }
  await execute(process.execPath, [at('node_modules/.bin/nx'), ...nxArgs], { env, onLine })
}

/** Ends this process unless the command succeeds. Everything goes to stderr: stdout belongs to the program alone. */
async function execute(command, commandArgs, { env = process.env, onLine } = {}) {
  const output = onLine ? 'pipe' : 2
  // An installation that outlives this process keeps the lock.
  const stdio = ['ignore', output, output, lock.fd]
  const child = spawn(command, commandArgs, { cwd: root, env, stdio })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue
    createInterface(stream).on('line', (line) => {
      said += `${line}\n`
      onLine(line)
    })
  }
  const status = await new Promise((resolve) => {
    child.once('error', (error) => fail(`${command} could not be run: ${error.message}`))
    child.once('close', resolve)
  })
  if (status === 0) return
  process.stderr.write(said)
  process.exit(1)
}

function tryTo(work) {
  try {
    return work()
  } catch {
    return undefined
  }
}

function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'))
}

function sha256(content) {
  return createHash('sha256').update(content).digest('hex')
}

function say(line) {
  console.error(`leadwire: ${line}`)
}

function fail(message) {
  console.error(message)
  process.exit(1)
}
