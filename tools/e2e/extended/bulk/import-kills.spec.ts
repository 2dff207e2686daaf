import { eventually } from '@leadwire/test-kit'
import { Client } from 'pg'
import { createImports, renderCsv, renderNdjson } from '../../support/imports'
import { type Stage, startStage } from '../../support/stage'

/** The row at which an import waits, and the number of the lock for which it waits. */
const HELD_AT = 1000

// The transaction of row HELD_AT waits while a session holds the lock.
const HOLD_IMPORTS = `
  CREATE FUNCTION hold_import() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock(${HELD_AT}); RETURN NEW; END';
  CREATE TRIGGER hold_import BEFORE UPDATE ON imports FOR EACH ROW
    WHEN (OLD.rows_read < ${HELD_AT} AND NEW.rows_read >= ${HELD_AT}) EXECUTE FUNCTION hold_import()`

let stage: Stage
let database: Client

beforeAll(async () => {
  stage = await startStage()
  database = new Client({ connectionString: stage.system.databases.leads.url })
  await database.connect()
  await database.query(HOLD_IMPORTS)
})
afterAll(async () => {
  await database?.end()
  await stage?.stop()
})

const names = Array.from({ length: 6000 }, (_, index) => `Lead ${index + 1}`)
// After a kill an import continues at a byte offset. Quoted cells and rows of several lines make a wrong
// offset visible.
const quoted = renderCsv(names).replaceAll(',open\n', ',"open"\r\n').replaceAll('Ada,', '"A\nda",')
const lines = renderNdjson(names.map((name) => ({ name })))

test.each([
  ['gateway', 'text/csv', quoted],
  ['gateway', 'application/x-ndjson', lines],
  ['leads-service', 'text/csv', quoted],
  ['files-service', 'application/x-ndjson', lines],
])(
  'if %s is killed during an import of %s, each row is created once',
  async (service, type, file) => {
    const tenant = await stage.newTenant()
    const imports = createImports(tenant)
    // Holds the import, so that it cannot end before the kill.
    await database.query('SELECT pg_advisory_lock($1)', [HELD_AT])
    const { id } = (await imports.post(file, { type })).json.data
    try {
      const rowsRead = async () => (await imports.retrieve(id)).rows_read
      await eventually(async () => expect(await rowsRead()).toBeGreaterThan(500))
      await stage.system.kill(service)
      await stage.system.restart(service)
      const rows = await eventually(rowsRead)
      expect(rows).toBeLessThan(names.length)
    } finally {
      await database.query('SELECT pg_advisory_unlock_all()')
    }
    const done = await eventually(
      async () => {
        const found = await imports.retrieve(id)
        expect(found.finished_at).not.toBeNull()
        return found
      },
      { timeoutMs: 90_000, everyMs: 100 },
    )
    expect(done).toMatchObject({ state: 'finished', rows_read: names.length, rows_created: names.length })
    expect((await imports.leads()).map(({ name }) => name)).toEqual(names)
  },
  180_000,
)
