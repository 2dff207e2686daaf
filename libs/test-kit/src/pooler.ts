import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cacheDirectory, freePort, startChild, whenReady } from '@leadwire/embedded'
import { Client } from 'pg'
import { fromGlobalSetup } from './environment'
import { watchProcess } from './watch-process'

export type TestPooler = {
  /** The same database, reached through the pooler. */
  through(url: string): string
  /** What the admin console answers, such as to `SHOW CLIENTS`. */
  show(command: string): Promise<Record<string, unknown>[]>
  stop(): Promise<void>
}

/**
 * PgBouncer of PATH, or of the cache folder into which `tools/e2e/install-pgbouncer.sh` builds it. Before 1.21 it could not
 * keep prepared statements.
 * @returns its path, or why it can't be had
 */
export function findPooler(): { binary: string } | { reason: string } {
  for (const binary of ['pgbouncer', join(cacheDirectory(process.env), 'pgbouncer')]) {
    const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' })
    if (Number(/PgBouncer 1\.(\d+)/.exec(stdout)?.[1]) >= 21) return { binary }
  }
  return { reason: 'there is no PgBouncer 1.21 or newer: run tools/e2e/install-pgbouncer.sh' }
}

/** PgBouncer in transaction mode before the server of all specs, with at most `size` connections to each database. */
export async function startPooler({ binary, size }: { binary: string; size: number }): Promise<TestPooler> {
  const directory = await mkdtemp(join(tmpdir(), 'leadwire-pooler-'))
  const server = new URL(fromGlobalSetup('LEADWIRE_TEST_POSTGRES'))
  const port = String(await freePort())
  const settings = [
    '[databases]',
    `* = host=${server.hostname} port=${server.port} user=${server.username}`,
    '[pgbouncer]',
    ...['listen_addr = 127.0.0.1', `listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = any'],
    ...['pool_mode = transaction', `default_pool_size = ${size}`, 'max_prepared_statements = 200'],
  ]
  const file = join(directory, 'pgbouncer.ini')
  await writeFile(file, settings.join('\n'))
  const child = watchProcess(
    await startChild({
      name: 'pgbouncer',
      command: binary,
      // It refuses to stay root.
      args: [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file],
      // It stops at once, also with clients connected.
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
