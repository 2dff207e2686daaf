import type { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { Body } from '@leadwire/requests'
import { whenValid } from '@leadwire/service-kit'
import { isObject, parseJsonBody } from '../../body/parse-body'
import type { IgnoredColumns } from './ignored-columns'
import { exportedFields, FIELDS, MAX_ROW_BYTES, type Row, UnreadableFile } from './rows'

const LINE_FEED = 0x0a

const WHITE_SPACE = Buffer.from(' \t\r')

const isBlank = (line: Buffer) => line.every((byte) => WHITE_SPACE.includes(byte))

/**
 * Yields the lines of an NDJSON file from `position` on. `bytes` is the part of the file that starts at
 * `position`. Skips blank lines. `end` is the position in the file after the line.
 */
async function* readLines(bytes: Readable, position: number): AsyncGenerator<{ line: Buffer; end: number }> {
  let end = position
  let rest = Buffer.alloc(0)
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    // Lets other requests run, because a file of blank lines yields no row for a long time.
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
    if (rest.length > MAX_ROW_BYTES)
      throw new UnreadableFile(
        'The row after the last processed row (`rows_read`) is longer than 1 MiB. Shorten or remove the row.',
      )
  }
  if (!isBlank(rest)) yield { line: rest, end: end + rest.length }
}

/**
 * Lists the unknown keys of a line. An exported lead has an object `customer`. Its unknown keys are listed
 * too, as `customer.<key>`.
 */
const listUnknownKeys = ({ customer, ...fields }: Record<string, unknown>): string[] => {
  const unknown = (object: object) => Object.keys(object).filter((key) => !FIELDS.includes(key))
  if (customer === undefined) return unknown(fields)
  if (!isObject(customer)) return [...unknown(fields), 'customer']
  return [...unknown(fields), ...unknown(customer).map((key) => `customer.${key}`)]
}

const readLine = (line: Buffer, ignored: IgnoredColumns): Body => {
  const body = parseJsonBody(line)
  for (const key of listUnknownKeys(body.fields)) ignored.add(key)
  return { ...body, fields: exportedFields(body.fields) }
}

/** Throws UnreadableFile if the first line shows that every row would be refused. */
const refuseOther = (line: Buffer): void => {
  if (!line.toString().trimStart().startsWith('{'))
    throw new UnreadableFile('The first line is not a JSON object. Send a CSV file as text/csv.')
  const fields = whenValid(() => exportedFields(parseJsonBody(line).fields))
  if (fields && !FIELDS.some((field) => Object.hasOwn(fields, field)))
    throw new UnreadableFile(`The first line has no known field. Known fields: ${FIELDS.join(', ')}.`)
}

/**
 * Yields the rows of an NDJSON file from `position` on. `bytes` is the part of the file that starts at
 * `position`. Reading a row adds its unknown keys to `ignored`. Throws UnreadableFile if the first line shows
 * that every row would be refused (`refuseOther`), or if a line is longer than MAX_ROW_BYTES.
 */
export async function* ndjsonRows(
  bytes: Readable,
  position: number,
  ignored: IgnoredColumns,
): AsyncGenerator<Row> {
  let isFirst = position === 0
  for await (const { line, end } of readLines(bytes, position)) {
    if (isFirst) refuseOther(line)
    isFirst = false
    yield { end, read: () => readLine(line, ignored), source: () => JSON.stringify(line.toString().trim()) }
  }
}
