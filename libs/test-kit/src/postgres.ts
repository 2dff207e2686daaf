import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, type PostgresServer, startPostgres } from '@leadwire/embedded'
import { asAdmin } from './database'
import { fromGlobalSetup } from './environment'
import { type Hardship, hardship, thaw } from './hardship'
import { watchProcess } from './watch-process'

export type TestPostgres = Hardship & {
  /** A superuser's URL, over TCP. */
  url: string
  /** From now on everybody but its superuser shows a password. */
  requirePasswords(): Promise<void>
  /** Stops it, and removes its data where that is a temporary folder. */
  stop(): Promise<void>
}

/**
 * A PostgreSQL server of this spec file's own, as durable as one that serves people: for what may not be done to the server
 * that all specs share. Its data lies in `folder`, or in a temporary one.
 */
export async function startPostgresServer({
  folder,
}: {
  folder?: string | undefined
} = {}): Promise<TestPostgres> {
  const directory = folder ?? (await mkdtemp(join(tmpdir(), 'leadwire-postgres-')))
  // Root runs the server as another user, who must be able to pass through.
  await chmod(directory, 0o755)
  const port = await freePort()
  // Of the authority that `tlsUrl` of a database names.
  const tls = JSON.parse(fromGlobalSetup('LEADWIRE_TEST_POSTGRES_TLS'))
  let server: PostgresServer
  const start = async () => {
    server = watchProcess(
      await startPostgres({ dataDirectory: join(directory, 'postgres'), port, durable: true, tls }),
    )
  }
  await start()
  return {
    ...hardship({ start, current: () => server }),
    url: server!.url(),
    requirePasswords: () =>
      asAdmin(server.url(), async (admin) => {
        const { rows } = await admin.query('show hba_file')
        // The file's name is the server's: it may run as another user.
        const lines = [
          `host all ${new URL(server.url()).username} all trust`,
          'host all all all scram-sha-256',
        ]
        await admin.query(`copy (values ('${lines.join("'), ('")}')) to '${rows[0].hba_file}'`)
        await admin.query('select pg_reload_conf()')
      }),
    stop: async () => {
      await thaw(server)
      await server.stop()
      if (!folder) await rm(directory, { recursive: true, force: true })
    },
  }
}
