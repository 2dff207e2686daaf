import { Client } from 'pg'
import type { TestDatabase } from './database'

/**
 * Returns the number of rows of each table, with a digest of their contents, by the name of the table.
 * Compare two results to see whether something left a trace, and in which table. `only` limits a table to the
 * rows that meet an SQL condition.
 */
export async function tableContents(
  { url }: TestDatabase,
  only: Record<string, string> = {},
): Promise<Record<string, string>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public' order by tablename",
    )
    const contents: Record<string, string> = {}
    for (const { name } of rows) {
      const table = client.escapeIdentifier(name)
      const found = await client.query<{ rows: string; digest: string }>(
        `select count(*) as rows, md5(string_agg(t::text, '|' order by t::text)) as digest from ${table} t
         where ${only[name] ?? 'true'}`,
      )
      contents[name] = `${found.rows[0]!.rows} rows ${found.rows[0]!.digest}`
    }
    return contents
  } finally {
    await client.end()
  }
}
