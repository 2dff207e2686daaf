import type { Sql } from '@leadwire/fill'

const TABLES = ['accounts', 'users', 'leads', 'outbox']

/**
 * Creates the schema `baseline`, unless it exists, with a copy of each table that a create needs. The copies
 * have the same columns, checks, keys and foreign keys. They have no other indexes and no stored JSON,
 * because the baselines lack the features that need these. No loop publishes the rows of the copied outbox.
 * Each call also copies the accounts that were created since the last call.
 */
export const copySchema = (leads: Sql): Promise<void> =>
  leads.transaction(async (rows) => {
    const [existing] = await rows("SELECT FROM pg_namespace WHERE nspname = 'baseline'")
    if (!existing) await createTables(rows)
    await rows('INSERT INTO baseline.accounts SELECT * FROM public.accounts ON CONFLICT DO NOTHING')
  })

const createTables = async (rows: Sql['rows']) => {
  await rows('CREATE SCHEMA baseline')
  for (const table of TABLES)
    await rows(`CREATE TABLE baseline.${table} (LIKE public.${table} INCLUDING ALL)`)
  await rows('ALTER TABLE baseline.leads DROP json_format, DROP json, DROP json_details')
  const indexes = await rows<{ name: string }>(
    `SELECT indexrelid::regclass::text AS name FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
     WHERE relnamespace = 'baseline'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)`,
  )
  for (const { name } of indexes) await rows(`DROP INDEX ${name}`)
  const keys = await rows<{ table: string; definition: string }>(
    `SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS definition
     FROM pg_constraint
     WHERE contype = 'f' AND conrelid = ANY ($1::regclass[]) AND confrelid = ANY ($1::regclass[])`,
    [TABLES],
  )
  await rows('SET LOCAL search_path = baseline')
  for (const { table, definition } of keys) await rows(`ALTER TABLE ${table} ADD ${definition}`)
  await rows('SET LOCAL search_path = public')
}
