import pg from 'pg'

export interface Sql {
  rows<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** `work` gets the rows of a connection with an open transaction. */
  transaction<T>(work: (rows: Sql['rows']) => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Connections to one database. `bigint` comes as a number. */
export const openSql = (connectionString: string): Sql => {
  const pool = new pg.Pool({
    connectionString,
    types: { getTypeParser: (oid, format) => (oid === 20 ? Number : pg.types.getTypeParser(oid, format)) },
  })
  // A server that stops ends idle connections; the next query says so.
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

/** A timestamptz as the text that the interface has. */
export const instant = (expression: string) =>
  `to_char((${expression}) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

/** What autovacuum would do later, so that whoever measures next does not pay for it. */
export const settle = async (sql: Sql, tables: string[]): Promise<void> => {
  // Else it leaves the indexes alone while few pages of a table have dead rows: the larger the table, the more of them stay.
  await sql.rows(`VACUUM (ANALYZE, INDEX_CLEANUP ON) ${tables.join(', ')}`)
  await sql.rows('CHECKPOINT')
}

/** The sizes of the portions in which `count` rows are written. */
export const portionsOf = (count: number, portion: number): number[] =>
  Array.from({ length: Math.ceil(count / portion) }, (_, index) => Math.min(portion, count - index * portion))
