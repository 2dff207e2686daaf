// The npm scripts run this file. It installs and builds the clone if necessary. Then it runs the program in
// its own process, so that signals and exit codes need no forwarding. It is plain JavaScript without
// dependencies, because a fresh clone has neither compiled files nor packages.
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
import { dirname, join } from 'node:path'
import { at, fail, readJson, root, runCommand, say, tryTo } from './bootstrap/common.mjs'
import { install, isInstalled } from './bootstrap/installation.mjs'

const BUILT = at('node_modules/.leadwire-built')

const require = createRequire(import.meta.url)
const { waitForLock } = require('./embedded/src/process/kernel-lock.cjs')
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
// Reports invalid options and prints --help before the installation, so that the user need not wait for it.
if (programs[command] === programs.start) require('./embedded/src/stack/options.cjs').optionsOrExit(args)
// Takes no lock if everything is ready, so that users without write access can run programs.
if (!isReady() && mayPrepare()) {
  const lock = await lockFolder()
  await install(lock)
  await build(lock)
  lock.release()
}
run(at(programs[command]))

function requireNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if ((major === 20 && minor >= 19) || (major === 22 && minor >= 12) || major >= 24) return
  fail(`Leadwire needs Node 20 (from 20.19), 22 (from 22.12), or 24 or newer. This is ${process.version}.`)
}

function isReady() {
  return isInstalled() && isUpToDate(fingerprint())
}

/**
 * Returns true if the current user can install and build in this clone. If not, returns false for `--help` if
 * an earlier build can print the help. In all other cases prints advice and exits.
 */
function mayPrepare() {
  const places = ['.cache', 'node_modules'].map((name) => (existsSync(at(name)) ? at(name) : root))
  if (places.every((path) => tryTo(() => accessSync(path, constants.W_OK) ?? true))) return true
  if (args.includes('--help') && existsSync(at(programs[command]))) return false
  fail(
    `${root} must be installed and built first, and this user can't write there. ` +
      'Run "npm start" as its owner once, or use a checkout of your own.',
  )
}

/** Waits for the lock that keeps two commands from installing into the same clone at once. */
function lockFolder() {
  let isReported = false
  return waitForLock(at('.cache/bootstrap.lock'), (holder) => {
    if (!isReported) say(`waiting for another command that installs or builds here (${holder})`)
    isReported = true
  }).catch((error) => fail(`leadwire: ${error.message}`))
}

async function build(lock) {
  const sources = fingerprint()
  if (isUpToDate(sources)) return
  say('building')
  let done = 0
  let total = 0
  const onLine = (line) => {
    // Nx prints the number of tasks first, then one line for each finished task.
    const [, projects, others] =
      /Running target build for (\d+) projects?(?: and (\d+) tasks?)?/.exec(line) ?? []
    if (projects) total = Number(projects) + Number(others ?? 0)
    const task = /> nx run (\S+)/.exec(line)?.[1]
    if (!task) return
    done += 1
    say(`building: ${done}${total ? ` of ${total}` : ''} (${task})`)
  }
  // Disables Nx's daemon, which would outlive the command, and its terminal interface, which would hide which
  // task failed.
  const env = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false' }
  const nx = [at('node_modules/.bin/nx'), 'run-many', '-t', 'build', '--output-style=static']
  const { status, output } = await runCommand(process.execPath, nx, { env, onLine, lock })
  if (status !== 0) fail(output.trimEnd())
  writeFileSync(BUILT, sources)
}

/** Whether the latest build was made from `sources` and still exists. */
function isUpToDate(sources) {
  return tryTo(() => readFileSync(BUILT, 'utf8')) === sources && isBuilt()
}

/**
 * Hashes the name, size and modification time of each file that a build reads. This takes only a few
 * milliseconds for several hundred files, so every command can do it. Excludes the version of Node, because
 * the result of a build does not depend on it.
 */
function fingerprint() {
  const hash = createHash('sha256')
  const add = (path) => {
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path.slice(root.length)} ${size} ${mtimeMs}\n`)
  }
  const walk = (folder) => {
    for (const entry of readdirSync(folder, { withFileTypes: true }).sort((a, b) =>
      a.name < b.name ? -1 : 1,
    )) {
      // A build writes these folders. If the hash included them, each build would make the next command build
      // again.
      if (['node_modules', 'dist', 'generated', 'coverage'].includes(entry.name)) continue
      if (entry.isDirectory()) walk(join(folder, entry.name))
      else if (entry.isFile() && !/\.(spec\.ts|fixture\.ts|md)$/.test(entry.name))
        add(join(folder, entry.name))
    }
  }
  for (const folder of ['apps', 'libs', 'tools']) if (existsSync(at(folder))) walk(at(folder))
  for (const file of ['package-lock.json', 'tsconfig.base.json', 'nx.json'])
    if (existsSync(at(file))) add(at(file))
  // Includes the guides, because the gateway's build renders pages from them.
  const guides = at('docs/guides')
  if (existsSync(guides)) for (const name of readdirSync(guides).sort()) add(join(guides, name))
  return hash.digest('hex')
}

/** Whether each package has the folder of its `main` file. */
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
  // npm runs scripts in the root of the clone, but paths in arguments and settings are relative to the folder
  // in which the user ran npm.
  process.chdir((process.env.npm_lifecycle_event === command && process.env.INIT_CWD) || '.')
  process.argv = [process.execPath, program, ...args]
  // Uses require, because import() would first scan the whole file for the names of its exports, which takes
  // 150 ms.
  createRequire(program)(program)
}
