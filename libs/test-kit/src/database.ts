import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { fromGlobalSetup } from './environment'

export type TestDatabase = {
  name: string
  /** A superuser's URL, over TCP. */
  url: string
  /** The same URL with TLS. */
  tlsUrl: string
  /**
   * Closes all connections to the database and drops it. A database that is not dropped disappears with the
   * server when the run ends.
   */
  drop(): Promise<void>
}

/**
 * Creates an empty database, or a copy of `template` (see `createTemplateDatabase`), in about 20 ms. `server`
 * is a superuser's URL. Default: the server that all specs share.
 */
export async function createDatabase({
  name = 'spec',
  template,
  server = fromGlobalSetup('LEADWIRE_TEST_POSTGRES'),
}: {
  name?: string
  template?: string
  server?: string | undefined
} = {}): Promise<TestDatabase> {
  const unique = `${name}_${randomUUID().slice(0, 8)}`
  await asAdmin(server, async (admin) => {
    // Copies the files of the template, which takes half as long as a copy through the write-ahead log.
    const source = template ? ` template ${admin.escapeIdentifier(template)} strategy file_copy` : ''
    await admin.query(`create database ${admin.escapeIdentifier(unique)}${source}`)
  })
  const drop = () =>
    asAdmin(server, async (admin) => {
      await admin.query(`drop database if exists ${admin.escapeIdentifier(unique)} with (force)`)
    })
  const url = new URL(server)
  url.pathname = `/${unique}`
  return { name: unique, url: url.href, tlsUrl: renderTlsUrl(url), drop }
}

/**
 * Creates a database from which other databases are copied. `prepare` (migrations, for example) runs once in
 * the whole jest run, in the first worker that calls this function. It must close its connections, because
 * PostgreSQL does not copy a database that is in use. Resolves with the name to pass to `createDatabase` as
 * `template`.
 */
export async function createTemplateDatabase(
  key: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const name = `template_${key}`
  await asAdmin(fromGlobalSetup('LEADWIRE_TEST_POSTGRES'), async (admin) => {
    await admin.query('select pg_advisory_lock(hashtext($1))', [name])
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
    if (rowCount) return
    const half = await createDatabase({ name: `half_${key}` })
    await prepare(half.url)
    await admin.query(
      `alter database ${admin.escapeIdentifier(half.name)} rename to ${admin.escapeIdentifier(name)}`,
    )
  })
  return name
}

/**
 * Ends every session of a database from the server's side, as a fail-over would. Clients see the code 57P01.
 */
export async function cutConnections({ name, url }: TestDatabase): Promise<void> {
  const server = new URL(url)
  server.pathname = '/postgres'
  await asAdmin(server.href, async (admin) => {
    await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name])
  })
}

export async function asAdmin(server: string, work: (admin: Client) => Promise<void>): Promise<void> {
  const admin = new Client({ connectionString: server })
  await admin.connect()
  try {
    await work(admin)
  } finally {
    await admin.end()
  }
}

function renderTlsUrl(plain: URL): string {
  const url = new URL(plain)
  url.searchParams.set('sslmode', 'verify-full')
  url.searchParams.set('sslrootcert', fromGlobalSetup('LEADWIRE_TEST_POSTGRES_CA'))
  return url.href
}
