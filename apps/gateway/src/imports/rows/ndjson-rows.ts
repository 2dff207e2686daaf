import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { whenValid } from '@leadwire/service-kit'
import { jsonBody } from '../../body/body'
import type { Body } from '../../validation/checker'
import { exportedFields, FIELDS, MAX_ROW_BYTES, type Row, UnreadableFile } from './rows'

const LINE_FEED = 0x0a

const WHITE_SPACE = Buffer.from(' \t\r')

const isBlank = (line: Buffer) => line.every((byte) => WHITE_SPACE.includes(byte))

/** The lines that are not blank of a file whose bytes start at `position`, each with the byte after it. */
async function* linesOf(bytes: Readable, position: number): AsyncGenerator<{ line: Buffer; end: number }> {
  let end = position
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    // Lines without anything would keep other requests waiting.
    await setImmediate()
    rest = Buffer.concat([rest, chunk])
    let start = 0
    for (let at = rest.indexOf(LINE_FEED); at >= 0; at = rest.indexOf(LINE_FEED, start)) {
      const line = rest.subarray(start, at)
      start = at + 1
      end += line.length + 1
      if (!isBlank(line)) yield { line, end }
    }
    rest = rest.subarray(start)
    if (rest.length > MAX_ROW_BYTES) throw new UnreadableFile('The next row is longer than 1 MiB.')
  }
  if (!isBlank(rest)) yield { line: rest, end: end + rest.length }
}

const bodyOf = (line: Buffer): Body => {
  const body = jsonBody(line)
  return { ...body, fields: exportedFields(body.fields) }
}

/** Throws UnreadableFile for a first line that shows that every row would be refused. */
const refuseOther = (line: Buffer): void => {
  if (!line.toString().trimStart().startsWith('{'))
    throw new UnreadableFile('The first line is no JSON object. A file of CSV is sent as text/csv.')
  const fields = whenValid(() => bodyOf(line).fields)
  if (fields && !FIELDS.some((field) => Object.hasOwn(fields, field)))
    throw new UnreadableFile(`The first line has no known field. There are: ${FIELDS.join(', ')}.`)
}

/** The rows of an NDJSON file whose bytes start at `position`. Throws UnreadableFile. */
export async function* ndjsonRows(bytes: Readable, position: number): AsyncGenerator<Row> {
  let isFirst = position === 0
  for await (const { line, end } of linesOf(bytes, position)) {
    if (isFirst) refuseOther(line)
    isFirst = false
    yield { end, read: () => bodyOf(line) }
  }
}
