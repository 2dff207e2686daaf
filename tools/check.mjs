// Behind `npm run check`: whether what changed since BASE (main) is fit to be proposed, within a minute. Nx knows which projects
// depend on it: of those, jest runs the specs that start nothing. Types and lint are for everything, and so are the specs of
// documents, which belong to the end-to-end specs.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

const linesOf = (command, ...args) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8' })
  if (status === 0) return stdout.split('\n').filter(Boolean)
  process.stderr.write(stderr)
  process.exit(1)
}
/** Shows what it wrote once it has ended, because others write meanwhile. */
const succeeds = async (command, ...args) => {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const written = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => written.push(chunk))
  const [status] = await once(child, 'close')
  process.stderr.write(Buffer.concat(written))
  return status === 0
}

const [base] = linesOf('git', 'merge-base', process.env.BASE || 'main', 'HEAD')
const types = succeeds('npm', 'run', '--silent', 'typecheck')
const lint = succeeds('npm', 'run', '--silent', 'lint')
const projects = new Set(['e2e', ...linesOf('nx', 'show', 'projects', '--affected', `--base=${base}`)])
const specs = succeeds('jest', '--config', 'jest.unit.config.cjs', '--selectProjects', ...projects)
const results = await Promise.all([types, lint, specs])
process.exit(results.every(Boolean) ? 0 : 1)
