import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory, freePort, startChild, whenReady } from '@leadwire/embedded'
import { Client } from 'pg'
import { fromGlobalSetup } from './environment'
import { watchProcess } from './watch-process'

export type TestPooler = {
  /** Returns the URL of the same database through the pooler. */
  through(url: string): string
  /** Runs a command of the admin console, such as `SHOW CLIENTS`. Resolves with the rows. */
  show(command: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/**
 * Finds PgBouncer 1.21 or newer: in PATH, or in the cache folder into which `tools/e2e/install-pgbouncer.sh`
 * builds it. Older versions cannot keep prepared statements. Returns the path, or the reason why there is
 * none.
 */
export function findPooler(): { binary: string } | { reason: string } {
  for (const binary of ['pgbouncer', join(cacheDirectory(process.env), 'pgbouncer')]) {
    const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
    if (Number(/PgBouncer 1\.(\d+)/.exec(stdout)?.[1]) >= 21) return { binary }
  }
  return { reason: 'there is no PgBouncer 1.21 or newer: run tools/e2e/install-pgbouncer.sh' }
}

/**
 * Starts PgBouncer in transaction mode in front of the server that all specs share, with at most `size`
 * connections to each database.
 */
export async function startPooler({ binary, size }: { binary: string; size: number }): Promise<TestPooler> {
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-pooler-'))
  const server = new URL(fromGlobalSetup('LEADWIRE_TEST_POSTGRES'))
  const port = String(await freePort())
  const settings = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port} user=${server.username}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    `default_pool_size = ${size}`,
    'max_prepared_statements = 200',
  ]
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, settings.join('\n'))
  const child = watchProcess(
    await startChild({
      name: 'pgbouncer',
      command: binary,
      // PgBouncer refuses to run as root.
      args: [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file],
      // Stops PgBouncer at once, even while clients are connected.
      stopSignal: 'SIGQUIT',
    }),
  )
  const through = (url: string) => Object.assign(new URL(url), { port, search: 'pgbouncer=true' }).href
  const show = async (command: string) => {
    const { href } = Object.assign(new URL(server), { port, pathname: '/pgbouncer' })
    const console = new Client({ connectionString: href })
    await console.connect()
    try {
      return (await console.query(command)).rows
    } finally {
      await console.end()
    }
  }
  const answers = () =>
    show('SHOW VERSION').then(
      () => true,
      () => false,
    )
  await whenReady(child, answers, { timeoutMs: 20_000 }).catch(async (error) => {
    await child.stop()
    throw error
  })
  return {
    through,
    show,
    stop: async () => {
      await child.stop()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
