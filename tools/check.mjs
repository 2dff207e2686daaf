// Behind `npm run check`: whether what changed since BASE (main) is fit to be proposed, within a minute. Nx knows which projects
// depend on it: of those it checks the types, where it has not done so before, and jest runs the specs that start nothing. Lint is
// for everything, and so are the specs of documents, which belong to the end-to-end specs.
import { spawnSync } from 'node:child_process'

const run = (command, ...args) => {
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}
const linesOf = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return stdout.split('\n').filter(Boolean)
  process.stderr.write(stderr)
  process.exit(1)
}

const [base] = linesOf('git', 'merge-base', process.env.BASE || 'main', 'HEAD')
const projects = new Set(['e2e', ...linesOf('nx', 'show', 'projects', '--affected', `--base=${base}`)])

run('nx', 'affected', '-t', 'typecheck', `--base=${base}`)
run('npm', 'run', '--silent', 'lint')
run('jest', '--config', 'jest.unit.config.cjs', '--selectProjects', ...projects)
