// `npm run check` runs this file. It checks types and lint, and runs those specs of the first tier that
// depend on a file that changed since BASE (default: main).
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'

/**
 * Runs a command and returns whether it succeeded. Prints its output in one piece, because commands run in
 * parallel.
 */
async function succeeds(command, ...args) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const [status] = await once(child, 'close')
  process.stderr.write(Buffer.concat(output))
  return status === 0
}

/** Returns the commit at which this branch left BASE. Exits if git does not know BASE. */
function findBase() {
  const { status, stdout, stderr } = spawnSync('git', ['merge-base', process.env.BASE || 'main', 'HEAD'], {
    encoding: 'utf8',
  })
  if (status === 0) return stdout.trim()
  process.stderr.write(stderr)
  process.exit(1)
}

const base = findBase()
const results = await Promise.all([
  succeeds('npm', 'run', '--silent', 'typecheck'),
  succeeds('npm', 'run', '--silent', 'lint'),
  succeeds('jest', '--selectProjects', 'specs', `--changedSince=${base}`),
])
process.exit(results.every(Boolean) ? 0 : 1)
