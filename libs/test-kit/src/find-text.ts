import { Client } from 'pg'
import type { TestDatabase } from './database'

/**
 * Lists the columns of a database that contain one of the texts, as `schema.table.column`. Searches all
 * schemas, and all types (bytea too) except numbers, times and booleans.
 */
export async function columnsWith({ url }: TestDatabase, texts: string[]): Promise<string[]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; place: string; type: string; column: string }>(`
      select format('%s.%s.%s', table_schema, table_name, column_name) as name,
        format('%I.%I', table_schema, table_name) as place, data_type as type, format('%I', column_name) as column
      from information_schema.columns join information_schema.tables using (table_catalog, table_schema, table_name)
      where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')
        and data_type not in ('bigint', 'integer', 'smallint', 'boolean', 'double precision', 'timestamp with time zone')`)
    const found: string[] = []
    for (const { name, place, type, column } of rows) {
      const bytes = type === 'bytea' ? column : `convert_to(${column}::text, 'UTF8')`
      const { rowCount } = await client.query(
        `select from ${place}, unnest($1::text[]) as wanted where position(convert_to(wanted, 'UTF8') in ${bytes}) > 0 limit 1`,
        [texts],
      )
      if (rowCount) found.push(name)
    }
    return found.sort()
  } finally {
    await client.end()
  }
}
