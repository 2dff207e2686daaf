import { Readable } from 'node:stream'
import { csvRows } from './csv-rows'
import { ndjsonRows } from './ndjson-rows'

const CHUNKS = 16
const chunksOf = (line: string) => Array<Buffer>(CHUNKS).fill(Buffer.from(line.repeat(65_536 / line.length)))

test.each([
  ['commas', (bytes: Readable) => csvRows(bytes, 1, { columns: ['name'], delimiter: ',' }), ',,,\n'],
  ['nothing in CSV', (bytes: Readable) => csvRows(bytes, 1, { columns: ['name'], delimiter: ',' }), '\n'],
  ['nothing in NDJSON', (bytes: Readable) => ndjsonRows(bytes, 1), '\n'],
  ['spaces in NDJSON', (bytes: Readable) => ndjsonRows(bytes, 1), '     \t\r\n'],
])('rows of %s leave other work its turns', async (_what, rowsOf, line) => {
  let turns = 0
  let reading = true
  const turn = () => {
    turns += 1
    if (reading) setImmediate(turn)
  }
  setImmediate(turn)
  // All of it is there at once, as when a socket has delivered much.
  for await (const row of rowsOf(Readable.from(chunksOf(line)))) expect(row).toBeUndefined()
  reading = false
  expect(turns).toBeGreaterThanOrEqual(CHUNKS)
})
