// Behind `npm run check`: whether what changed since BASE (main) is fit to be proposed, within a minute. Types of the projects that
// depend on it come from Nx, lint is for everything, and of the specs it runs those beside changed files.
import { spawnSync } from 'node:child_process'
import { dirname } from 'node:path'

const run = (command, ...args) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
const linesOf = (...args) => {
  const { status, stdout, stderr } = spawnSync('git', args, { encoding: 'utf8' })
  if (status === 0) return stdout.split('\n').filter(Boolean)
  process.stderr.write(stderr)
  process.exit(1)
}

const base = linesOf('merge-base', process.env.BASE || 'main', 'HEAD')[0]
const changed = [
  ...linesOf('diff', '--name-only', base),
  ...linesOf('ls-files', '--others', '--exclude-standard'),
]
const folders = new Set(changed.filter((path) => path.endsWith('.ts')).map(dirname))

run('nx', 'affected', '-t', 'typecheck', `--base=${base}`)
run('npm', 'run', '--silent', 'lint')
// Whole stacks take longer.
const skipped = '/tools/(e2e|crash-test|leadwire)/'
const beside = [...folders].map((folder) => `/${folder}/[^/]+$`)
if (beside.length > 0)
  run('jest', '--passWithNoTests', '--testPathIgnorePatterns', skipped, '--testPathPatterns', ...beside)
