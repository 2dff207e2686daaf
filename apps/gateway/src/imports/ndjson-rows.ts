import type { Readable } from 'node:stream'
import { jsonBody } from '../http/body'
import { FileFault, MAX_ROW_BYTES, type Row } from './rows'

const LINE_FEED = 0x0a

const isBlank = (line: Buffer) => line.length < 4 && line.toString().trim() === ''

/** The lines of NDJSON from byte `position` of a file on, without blank ones. */
export async function* ndjsonRows(bytes: Readable, position: number): AsyncGenerator<Row> {
  let end = position
  let rest = Buffer.alloc(0)
  const rowOf = (line: Buffer): Row => ({ end, read: () => jsonBody(line) })
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    rest = Buffer.concat([rest, chunk])
    let start = 0
    for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED, start)) {
      const line = rest.subarray(start, at)
      start = at + 1
      end += line.length + 1
      if (!isBlank(line)) yield rowOf(line)
    }
    rest = rest.subarray(start)
    if (rest.length > MAX_ROW_BYTES) throw new FileFault('The next row is longer than 1 MiB.')
  }
  end += rest.length
  if (!isBlank(rest)) yield rowOf(rest)
}
