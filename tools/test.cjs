// Behind `npm test`, once tools/bootstrap.mjs has made the clone ready: type check, lint and specs, some of them a
// second time on a stack that speaks TLS; each check counts as one. It ends with the count, alone on a line. Arguments are for jest.
const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const { existsSync, readFileSync, rmSync } = require('node:fs')
const { constants, setPriority, tmpdir } = require('node:os')
const { join } = require('node:path')

/** More of them are no accident. */
const MOST_REPEATED = 5

const binary = (name) => join(__dirname, '../node_modules/.bin', name)

/** Runs a command, whose output goes to stderr: stdout has the count alone. Answers with whether it succeeded. */
function succeeds(command, args, { env, stdout = 2 } = {}) {
  const { status, error } = spawnSync(command, args, {
    cwd: join(__dirname, '..'),
    env: { ...process.env, ...env },
    stdio: ['ignore', stdout, 2],
  })
  if (error) console.error(`${command} could not be run: ${error.message}`)
  return status === 0
}

function npm() {
  const cli = process.env.npm_execpath
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
}

/** Resolves with whether types are right. It takes the processor time that specs leave. */
async function checkTypes() {
  const [command, first] = npm()
  // Without what npm runs before it: the build has generated what it needs, and specs read that.
  const args = [...first, 'run', '--silent', '--ignore-scripts', 'typecheck']
  const child = spawn(command, args, { cwd: join(__dirname, '..'), stdio: ['ignore', 2, 2] })
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const [status] = await once(child, 'close')
  if (status !== 0) console.error('Types are wrong: see above, between the results of specs.')
  return status === 0
}

function lint() {
  const [command, first] = npm()
  return succeeds(command, [...first, 'run', '--silent', 'lint'])
}

/** Undefined where the registry tells of no advisories, or can't be reached. */
function audit() {
  const [command, first] = npm()
  const args = [...first, 'audit', '--omit=dev', '--audit-level=high', '--json']
  const { stdout, status } = spawnSync(command, args, {
    cwd: join(__dirname, '..'),
    encoding: 'utf8',
    timeout: 60_000,
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  if (!parsed(stdout)?.auditReportVersion) {
    console.error('npm audit: skipped, the registry does not answer with advisories')
    return undefined
  }
  if (status !== 0) console.error(stdout)
  return status === 0
}

/** A busy machine's pauses fail some specs: if few files failed, they run once more, one at a time. Those that pass are named. */
function runSpecs(asked) {
  const isWhole = asked.every((argument) => argument.startsWith('--'))
  const files = runJest(asked, isWhole)
  const failed = namesOfFailed(files)
  if (failed.length === 0 || failed.length > MOST_REPEATED || !failed.every(existsSync)) return files
  console.error(`\nThese failed, and run once more:\n${failed.join('\n')}\n`)
  const options = asked.filter((argument) => /^--(?!shard|coverage)/.test(argument))
  const repeated = runJest([...options, '--runInBand', '--runTestsByPath', ...failed], isWhole)
  const stillFailed = namesOfFailed(repeated)
  const flaky = failed.filter((name) => !stillFailed.includes(name))
  if (flaky.length > 0) console.error(`\nFlaky, they passed the second time:\n${flaky.join('\n')}`)
  return [...files.filter(({ name }) => !failed.includes(name)), ...repeated]
}

const namesOfFailed = (files) => [
  ...new Set(files.filter(({ status }) => status === 'failed').map(({ name }) => name)),
]

/** The results of each file. */
function runJest(asked, isWhole) {
  const report = join(tmpdir(), `leadwire-specs-${process.pid}.json`)
  const options = ['--json', `--outputFile=${report}`]
  const succeeded = succeeds(process.execPath, [binary('jest'), ...options, ...asked], {
    stdout: 'ignore',
    env: { LEADWIRE_TEST_BUILD_MINIO: '1', ...(isWhole && { LEADWIRE_TEST_ALL: '1' }) },
  })
  const files = readReport(report)?.testResults ?? []
  // Without a report, for one.
  const isUnexplained = !succeeded && namesOfFailed(files).length === 0
  return isUnexplained ? [...files, { name: 'jest', status: 'failed', assertionResults: [] }] : files
}

function readReport(path) {
  try {
    return parsed(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  } finally {
    rmSync(path, { force: true })
  }
}

function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const checkLicences = () => succeeds(process.execPath, [join(__dirname, 'check-licences.mjs')])

async function main(asked) {
  const [shard] = asked.filter((argument) => argument.startsWith('--shard='))
  // The first of the machines that share the specs does the rest.
  const checks =
    !shard || shard.startsWith('--shard=1/') ? [checkTypes(), lint(), checkLicences(), audit()] : []
  const specs = runSpecs(asked)
  const answers = await Promise.all(checks)
  const results = specs.flatMap(({ status, assertionResults }) => {
    const ofTests = assertionResults.map((test) => test.status)
    // A file that leaks, or can't be loaded, fails without a test that failed.
    return status === 'failed' && !ofTests.includes('failed') ? [...ofTests, status] : ofTests
  })
  const count = (status, answer) =>
    [...results, ...answers].filter((result) => result === status || result === answer).length
  const [passed, failed] = [count('passed', true), count('failed', false)]
  const skipped = results.length + answers.length - passed - failed
  console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`)
  process.exit(failed === 0 ? 0 : 1)
}

main(process.argv.slice(2))
