import { pipeline, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { ServiceError } from '@leadwire/service-kit'
import type { TSchema } from '@sinclair/typebox'
import { CsvError, type Info, parse } from 'csv-parse'
import { unguarded } from '../../exports/lead-csv'
import { VisitorLead } from '../../leads/visitor-lead-fields'
import type { Body } from '../../validation/checker'
import { textErrors } from '../../validation/text-errors'
import { CSV, type CsvHeader, fieldsOf, readHeader } from './csv-header'
import { exportedFields } from './exported-fields'
import { MAX_ROW_BYTES, type Row, UnreadableFile } from './rows'

const PROPERTIES: Record<string, TSchema> = VisitorLead.properties

const jsonOf = (field: string, cell: string): unknown => {
  try {
    return JSON.parse(cell)
  } catch (cause) {
    throw new ServiceError('invalid', `The ${field} must be JSON.`, { cause })
  }
}

/** Spreadsheets write TRUE, and 1500.00 where a column shows decimals. A list is JSON. */
const cellValue = (field: string, cell: string): unknown => {
  const { type } = PROPERTIES[field]!
  if (type === 'array') return cell.trim() === '' ? undefined : jsonOf(field, cell)
  if (type === 'boolean') return cell.toLowerCase()
  return type === 'integer' ? cell.trim().replace(/^(-?\d+)\.0+$/, '$1') : cell
}

/** The fields of a row. Like a form, CSV has only text. */
const bodyOf = (fields: (string | undefined)[], cells: string[]): Body => {
  if (cells.slice(fields.length).some((cell) => cell.trim() !== ''))
    throw new ServiceError('invalid', `The row has ${cells.length} cells, and the header ${fields.length}.`)
  const given: Record<string, unknown> = {}
  const lists: string[] = []
  for (const [index, field] of fields.entries()) {
    if (field === undefined || cells[index] === undefined) continue
    const cell = unguarded(cells[index])
    given[field] = cellValue(field, cell)
    // The options of items are read from the text of the JSON.
    if (Array.isArray(given[field])) lists.push(`${JSON.stringify(field)}:${cell}`)
  }
  const json = lists.length > 0 ? { json: `{${lists.join()}}` } : {}
  return { fields: exportedFields(given), form: true, ...json, errors: textErrors(given) }
}

/** The first bytes of a stream, as many as a row may have, and the whole stream. */
const withHead = async (bytes: Readable): Promise<{ head: Buffer; all: AsyncIterable<Buffer> }> => {
  const chunks: Buffer[] = []
  const iterator = (bytes as AsyncIterable<Buffer>)[Symbol.asyncIterator]()
  for (let size = 0; size < MAX_ROW_BYTES; size += chunks.at(-1)!.length) {
    const { value, done } = await iterator.next()
    if (done) break
    chunks.push(value)
  }
  const all = async function* () {
    yield* chunks
    yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { head: Buffer.concat(chunks), all: all() }
}

const PIECE = 4096

/**
 * The same bytes in small pieces, and an iteration of the event loop before each. The parser needs up to 70 µs for a blank row of commas: what a
 * socket delivers at once kept other requests waiting for half a minute.
 */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += PIECE) {
      await setImmediate()
      yield chunk.subarray(at, at + PIECE)
    }
}

/**
 * The rows of a CSV file whose bytes start at `position`. At 0 the header is read first, and written to `header`. Throws UnreadableFile.
 */
export async function* csvRows(bytes: Readable, position: number, header: CsvHeader): AsyncGenerator<Row> {
  let [rest, from_line]: [AsyncIterable<Buffer>, number] = [bytes, 1]
  if (position === 0) {
    const { head, all } = await withHead(bytes)
    const { columns, delimiter, ...start } = readHeader(head)
    Object.assign(header, { columns, delimiter })
    ;[rest, from_line] = [all, start.from_line]
  }
  const fields = fieldsOf(header.columns)
  const parser = parse({ ...CSV, info: true, delimiter: header.delimiter, from_line })
  // The parser throws the errors of the pipeline.
  pipeline(inPieces(rest), parser, () => undefined)
  let isHeader = position === 0
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      if (!isHeader) yield { end: position + info.bytes, read: () => bodyOf(fields, record) }
      isHeader = false
    }
  } catch (error) {
    // Other errors are not of the file.
    throw error instanceof CsvError
      ? new UnreadableFile(`The next rows are no CSV: ${error.message}.`)
      : error
  }
}
