import { localPostgresUrl } from '@leadwire/embedded'
import pg from 'pg'
import type { Ground } from '../process/ground'

export type Sql = {
  /** How the services of the stack reach the database, for baselines. */
  url: string
  rows<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
}

/** One connection as superuser, to load rows and to look. bigint comes as a number. */
export async function connectSql(ground: Ground, postgresUrl: string, database: string): Promise<Sql> {
  const url = new URL(postgresUrl)
  url.pathname = `/${database}`
  const client = new pg.Client({
    connectionString: url.href,
    types: { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) },
  })
  client.on('error', () => {})
  await client.connect()
  ground.onLeave(() => client.end())
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await client.query<Row>(text, values)).rows
  const [server] = await rows<{ data_directory: string }>('SHOW data_directory')
  const place = { dataDirectory: server!.data_directory, port: Number(url.port) }
  return { url: localPostgresUrl(place, database), rows }
}
