// Behind `npm test`, once tools/bootstrap.mjs has made the clone ready: type check, lint and specs, some of them a
// second time on a stack that speaks TLS; each check counts as one. It ends with the count, alone on a line. Arguments are for jest.
const { spawn, spawnSync } = require('node:child_process')
const { once } = require('node:events')
const { readFileSync, rmSync } = require('node:fs')
const { constants, setPriority, tmpdir } = require('node:os')
const { join } = require('node:path')

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

/** Resolves with whether types are right. It takes the processor time that specs leave. */
async function checkTypes() {
  // The daemon would outlive the command, and the terminal interface hides what failed. What the build generated stays: specs read it.
  const env = { ...process.env, NX_DAEMON: 'false', NX_TUI: 'false' }
  const args = ['run-many', '-t', 'typecheck', '--output-style=static', '--excludeTaskDependencies']
  const options = { cwd: join(__dirname, '..'), env, stdio: ['ignore', 2, 2] }
  const child = spawn(process.execPath, [binary('nx'), ...args], options)
  setPriority(child.pid, constants.priority.PRIORITY_LOW)
  const [status] = await once(child, 'close')
  if (status !== 0) console.error('Types are wrong: see above, between the results of specs.')
  return status === 0
}

function npm() {
  const cli = process.env.npm_execpath
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli]] : ['npm', []]
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

function runSpecs(asked) {
  const report = join(tmpdir(), `leadwire-specs-${process.pid}.json`)
  const succeeded = succeeds(
    process.execPath,
    [binary('jest'), '--json', `--outputFile=${report}`, ...asked],
    {
      stdout: 'ignore',
      env: {
        LEADWIRE_TEST_BUILD_MINIO: '1',
        ...(asked.every((argument) => argument.startsWith('--')) && { LEADWIRE_TEST_ALL: '1' }),
      },
    },
  )
  const result = readReport(report)
  if (!result) return { passed: 0, failed: 1, skipped: 0 }
  const { numPassedTests, numFailedTests, numPendingTests, numTodoTests, numRuntimeErrorTestSuites } = result
  const failed = numFailedTests + numRuntimeErrorTestSuites
  // A file that leaks fails the run without failing a test.
  const unexplained = !succeeded && failed === 0 ? 1 : 0
  return { passed: numPassedTests, failed: failed + unexplained, skipped: numPendingTests + numTodoTests }
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
  const count = (result, answer) => specs[result] + answers.filter((ok) => ok === answer).length
  const [passed, failed, skipped] = [
    count('passed', true),
    count('failed', false),
    count('skipped', undefined),
  ]
  console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`)
  process.exit(failed === 0 ? 0 : 1)
}

main(process.argv.slice(2))
