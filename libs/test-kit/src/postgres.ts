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
  /** From now on every role except the superuser needs a password. */
  requirePasswords(): Promise<void>
  /** Stops the server. Removes its data if they are in a temporary folder. */
  stop(): Promise<void>
}

/**
 * Starts a PostgreSQL server for this spec file alone, for tests that would disturb the server that all specs
 * share. The server is as durable as in production. Its data are in `folder`, or in a temporary folder.
 */
export async function startPostgresServer({
  folder,
}: {
  folder?: string | undefined
} = {}): Promise<TestPostgres> {
  const directory = folder ?? (await mkdtemp(join(tmpdir(), 'leadwire-postgres-')))
  // If this process is root, PostgreSQL runs as another user, who must be able to enter the folder.
  await chmod(directory, 0o755)
  const port = await freePort()
  // The server's certificate is signed by the CA whose certificate is `sslrootcert` in the `tlsUrl` of a
  // database.
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
        // The server itself writes the file, because the server may run as another user.
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
