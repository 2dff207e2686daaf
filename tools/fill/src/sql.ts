import pg from 'pg'

export interface Sql {
  rows<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** Runs `work` in a transaction. `work` receives a function that sends queries inside the transaction. */
  transaction<T>(work: (rows: Sql['rows']) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Opens a pool of connections to one database. Returns `bigint` columns as numbers. */
export const openSql = (connectionString: string): Sql => {
  const pool = new pg.Pool({
    connectionString,
    types: { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) },
  })
  // Ignores errors of idle connections: a server closes them when it stops, and the next query fails with the
  // reason.
  pool.on('error', () => {})
  return {
    rows: async <Row extends object>(text: string, values: unknown[] = []) =>
      (await pool.query<Row>(text, values)).rows,
    transaction: async (work) => {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        const result = await work(async (text, values = []) => (await client.query(text, values)).rows)
        await client.query('COMMIT')
        client.release()
        return result
      } catch (error) {
        client.release(true)
        throw error
      }
    },
    close: () => pool.end(),
  }
}

/** Renders SQL that returns a timestamptz as text, in the format of the API. */
export const renderInstant = (expression: string) =>
  `to_char((${expression}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** Vacuums and analyzes tables now, so that autovacuum does not disturb a later measurement. */
export const vacuum = async (sql: Sql, tables: string[]): Promise<void> => {
  // Without INDEX_CLEANUP ON, VACUUM skips the indexes of a table if few of its pages have dead rows.
  await sql.rows(`VACUUM (ANALYZE, INDEX_CLEANUP ON) ${tables.join(', ')}`)
  await sql.rows('CHECKPOINT')
}

/** Splits `count` rows into batches. Returns the size of each batch. */
export const splitIntoBatches = (count: number, size: number): number[] =>
  Array.from({ length: Math.ceil(count / size) }, (_, index) => Math.min(size, count - index * size))
