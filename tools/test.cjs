// `npm test` runs this file after tools/bootstrap.mjs has installed and built the clone. It checks types,
// lint, licences and `npm audit`, and runs the specs of the first two tiers (jest.config.cjs). `--all` adds
// the third tier. jest gets all other arguments. The last line counts the passed and failed tests and checks.
const { spawn } = require('node:child_process')
const { once } = require('node:events')
const { mkdtempSync, readFileSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')

const ROOT = join(__dirname, '..')
const TIERS = ['specs', 'scenarios']
const EXTENDED_TIERS = [...TIERS, 'extended', 'extended-tls']
const AUDIT_TIMEOUT_MS = 60_000

main(process.argv.slice(2))

async function main(args) {
  const isAll = args.includes('--all')
  const jestArgs = args.filter((argument) => argument !== '--all')
  // If several machines share the specs, only the first machine runs the checks.
  const [shard] = jestArgs.filter((argument) => argument.startsWith('--shard='))
  const isFirstShard = !shard || shard.startsWith('--shard=1/')
  const checks = isFirstShard ? await runChecks() : []
  const specs = await runSpecs(jestArgs, isAll)
  const passed = checks.filter((check) => check === 'passed').length + specs.passed
  const failed = checks.filter((check) => check === 'failed').length + specs.failed
  const skipped = checks.filter((check) => check === 'skipped').length + specs.skipped
  console.log(`\n${passed} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''}`)
  process.exit(failed === 0 ? 0 : 1)
}

/** Runs the checks in parallel. Returns 'passed', 'failed' or 'skipped' for each. */
function runChecks() {
  return Promise.all([
    runCheck('types', ...npm('run', '--silent', 'typecheck')),
    runCheck('lint', ...npm('run', '--silent', 'lint')),
    runCheck('licences', process.execPath, [join(__dirname, 'check-licences.mjs')]),
    audit(),
  ])
}

async function runCheck(name, command, args) {
  const { status, output } = await run(command, args)
  console.error(`${status === 0 ? 'PASS' : 'FAIL'} ${name}`)
  if (status === 0) return 'passed'
  console.error(output)
  return 'failed'
}

/** Runs `npm audit`. Returns 'skipped' if the registry has no advisories or cannot be reached. */
async function audit() {
  const [command, args] = npm('audit', '--omit=dev', '--audit-level=high', '--json')
  const { status, output } = await run(command, args, { timeout: AUDIT_TIMEOUT_MS })
  if (!output.includes('"auditReportVersion"')) {
    console.error('SKIP npm audit: the registry sent no advisories')
    return 'skipped'
  }
  console.error(`${status === 0 ? 'PASS' : 'FAIL'} npm audit`)
  if (status === 0) return 'passed'
  console.error(output)
  return 'failed'
}

/** Runs jest. Returns how many tests passed, failed and were skipped. */
async function runSpecs(jestArgs, isAll) {
  const folder = mkdtempSync(join(tmpdir(), 'leadwire-report-'))
  const report = join(folder, 'report.json')
  const tiers = isAll ? EXTENDED_TIERS : TIERS
  const args = ['--json', `--outputFile=${report}`, '--selectProjects', ...tiers]
  // Puts the given arguments first: after --selectProjects, jest would take a positional argument for a
  // project.
  const child = spawn(process.execPath, [join(ROOT, 'node_modules/.bin/jest'), ...jestArgs, ...args], {
    cwd: ROOT,
    // Hides stdout, because jest also prints the report there.
    stdio: ['ignore', 'ignore', 'inherit'],
    // Building MinIO and SeaweedFS takes minutes, so only a run with `--all` builds them.
    env: { ...process.env, ...(isAll && { LEADWIRE_TEST_BUILD_S3_SERVERS: '1' }) },
  })
  const [status] = await once(child, 'close')
  try {
    return countTests(JSON.parse(readFileSync(report, 'utf8')), status)
  } catch (error) {
    console.error(`jest wrote no report: ${error.message}`)
    return { passed: 0, failed: 1, skipped: 0 }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function countTests(report, status) {
  // The run can fail without a failed test: if a spec file does not load, or if a process outlives the run.
  const failures = report.numFailedTests + report.numRuntimeErrorTestSuites
  return {
    passed: report.numPassedTests,
    failed: status === 0 ? failures : Math.max(failures, 1),
    skipped: report.numPendingTests + report.numTodoTests,
  }
}

/** Runs a command to its end. Returns its status and what it wrote to stdout and stderr. */
async function run(command, args, { timeout } = {}) {
  const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], timeout })
  const chunks = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
  const [status] = await once(child, 'close')
  return { status, output: Buffer.concat(chunks).toString() }
}

/** Returns a command line that runs npm: the npm that runs this command, or else the npm in PATH. */
function npm(...args) {
  const cli = process.env.npm_execpath
  return cli?.endsWith('npm-cli.js') ? [process.execPath, [cli, ...args]] : ['npm', args]
}
