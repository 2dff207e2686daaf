import type { Sql } from '../stack/database'

const TABLES = ['accounts', 'users', 'customers', 'leads', 'outbox']

/**
 * Makes the tables that a create writes once more in the schema `baseline`, with the same columns, checks, indexes and
 * foreign keys (without the JSON that is made of them, which the baseline has no use for): rows written there cost
 * PostgreSQL the same, and no relay picks them up.
 */
export async function copySchema(leads: Sql): Promise<void> {
  const [there] = await leads.rows("SELECT FROM pg_namespace WHERE nspname = 'baseline'")
  if (there) return
  await leads.rows('CREATE SCHEMA baseline')
  for (const table of TABLES)
    await leads.rows(
      `CREATE TABLE baseline.${table} (LIKE public.${table} INCLUDING ALL EXCLUDING GENERATED)`,
    )
  const keys = await leads.rows<{ table: string; definition: string }>(
    `SELECT conrelid::regclass::text AS table, pg_get_constraintdef(oid) AS definition FROM pg_constraint
     WHERE contype = 'f' AND conrelid = ANY ($1::regclass[]) AND confrelid = ANY ($1::regclass[])`,
    [TABLES],
  )
  await leads.rows('SET search_path = baseline')
  for (const { table, definition } of keys) await leads.rows(`ALTER TABLE ${table} ADD ${definition}`)
  await leads.rows('RESET search_path')
  await leads.rows('INSERT INTO baseline.accounts SELECT * FROM public.accounts')
}
