import { eventually } from '@leadwire/test-kit'
import { type Stage, startStage } from '../stage.fixture'
import { csvOf, importsOf, ndjsonOf } from './import.fixture'

let stage: Stage

beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())

const names = Array.from({ length: 6000 }, (_, index) => `Lead ${index + 1}`)
// A quoted cell at the end of a row, and rows of several lines: an import stands at the byte where it goes on.
const quoted = csvOf(names).replaceAll(',open\n', ',"open"\r\n').replaceAll('Ada,', '"A\nda",')
const lines = ndjsonOf(names.map((name) => ({ name })))

test.each([
  ['gateway', 'text/csv', quoted],
  ['gateway', 'application/x-ndjson', lines],
  ['leads-service', 'text/csv', quoted],
  ['files-service', 'application/x-ndjson', lines],
])(
  '%s is killed in the middle of %s: no row is lost, and none is created twice',
  async (service, type, file) => {
    const tenant = await stage.newTenant()
    const imports = importsOf(tenant)
    const { id } = (await imports.post(file, { type })).json.data
    const rowsRead = async () => (await imports.retrieve(id)).rows_read
    await eventually(async () => expect(await rowsRead()).toBeGreaterThan(500), { everyMs: 5 })
    await stage.system.kill(service)
    await stage.system.restart(service)
    const rows = await eventually(rowsRead)
    expect(rows).toBeLessThan(names.length)
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
