import { createDatabase, migrate, settingsToMigrate } from '@leadwire/test-kit'
import { Client } from 'pg'
import { BUILT_WITHIN_MS, describeUpgrade, previousRelease } from './previous-release.fixture'

/** Selects a line for each column, index, constraint, trigger and function of the schema. */
const SCHEMA = `
  SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default, is_identity, generation_expression) AS line
    FROM information_schema.columns WHERE table_schema = 'public'
  UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
  UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
    FROM pg_constraint WHERE connamespace = 'public'::regnamespace
  UNION ALL SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
  ORDER BY line`

describeUpgrade()('the schema', () => {
  test.each(['leads-service', 'webhook-service'] as const)(
    'of %s is the same after an upgrade as in a new database, so no released migration was changed',
    async (service) => {
      const old = await previousRelease()
      const schemaAfter = async (roots: (string | undefined)[]) => {
        const database = await createDatabase()
        for (const root of roots) await migrate(service, settingsToMigrate(database.url), root)
        const client = new Client({ connectionString: database.url })
        await client.connect()
        const { rows } = await client.query<{ line: string }>(SCHEMA)
        await client.end()
        await database.drop()
        return rows.map(({ line }) => line)
      }
      const anew = await schemaAfter([undefined])
      expect(anew.length).toBeGreaterThan(50)
      expect(await schemaAfter([old, undefined])).toEqual(anew)
    },
    BUILT_WITHIN_MS,
  )
})
