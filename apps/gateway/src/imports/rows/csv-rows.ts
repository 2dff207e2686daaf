import { pipeline, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { ClaimedImport } from '@leadwire/contracts'
import { ServiceError, whenValid } from '@leadwire/service-kit'
import type { TSchema } from '@sinclair/typebox'
import { CsvError, type Info, type Options, parse } from 'csv-parse'
import { parse as parseSync } from 'csv-parse/sync'
import { LEAD_FIELDS, unguarded } from '../../exports/lead-csv'
import { VisitorLead } from '../../leads/visitor-lead'
import type { Body } from '../../validation/checker'
import { textErrors } from '../../validation/text-errors'
import { exportedFields, FIELDS, MAX_ROW_BYTES, type Row, UnreadableFile } from './rows'

/** How rows are read: RFC 4180, and what spreadsheets write. */
const CSV = {
  // The parser itself would expect the end of the first line at all lines.
  record_delimiter: ['\r\n', '\n', '\r'],
  skip_records_with_empty_values: true,
  // Ten times as fast for lines without even a comma.
  skip_empty_lines: true,
  relax_column_count: true,
  relax_quotes: true,
  max_record_size: MAX_ROW_BYTES,
} satisfies Options

// Of several with as many known columns, the first counts.
const DELIMITERS = [',', ';', '\t', '|']

// As many as a sheet of Excel has. They are kept with the import, and stored again with each batch of its rows.
const MAX_COLUMNS = 16_384

// Longer than any name of ours. Normalising a megabyte of accents takes a minute.
const LONGEST_NAME = 255

const lettersOf = (name: string) =>
  name
    .slice(0, LONGEST_NAME)
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}]/gu, '')

// An export has a customer's fields by the name `customer.email`.
const FIELD_OF = new Map(
  FIELDS.flatMap((field) => [
    [lettersOf(field), field] as const,
    ...(LEAD_FIELDS.includes(field) ? [] : [[lettersOf(`customer.${field}`), field] as const]),
  ]),
)

const ATTRIBUTE = /^attributes\.[a-z][a-z0-9_]{0,39}$/

/** `Attributes.UTM Source` is `attributes.utm_source`. */
const attributeOf = (name: string): string | undefined =>
  ATTRIBUTE.exec(
    name
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, '_'),
  )?.[0]

/** The field of each column, by the letters of its name, or `attributes.KEY`; undefined for an unknown column. */
const fieldsOf = (columns: string[]) =>
  columns.map((name) => attributeOf(name.slice(0, LONGEST_NAME)) ?? FIELD_OF.get(lettersOf(name)))

const countFields = (columns: string[]) => fieldsOf(columns.slice(0, MAX_COLUMNS)).filter(Boolean).length

// With the wrong delimiter, quotes may have no end.
const columnsOf = (head: Buffer, options: Options): string[] =>
  whenValid(() => parseSync(head, { ...CSV, ...options, to: 1 })[0]) ?? []

/** Why every row below a header would be refused. */
const headerError = (columns: string[]): string | undefined => {
  if (columns.length > MAX_COLUMNS)
    return `The header has ${columns.length} columns, and may have ${MAX_COLUMNS}.`
  // Its letters alone would be known.
  if (columns.some((name) => name.includes('\0')))
    return 'The header has a NUL, as UTF-16 has where its byte order mark is missing.'
  const fields = fieldsOf(columns).filter((field) => field !== undefined)
  if (fields.length === 0) return `The first row has no known column. There are: ${FIELDS.join(', ')}.`
  const twice = fields.find((field, index) => fields.indexOf(field) < index)
  if (twice !== undefined) return `The header has the column ${twice} twice.`
  // A lead that is there may be changed with less.
  if (fields.includes('external_id')) return undefined
  const missing = VisitorLead.required!.filter((field) => !fields.includes(field))
  return missing.length > 0 ? `The header lacks what each row must have: ${missing.join(', ')}.` : undefined
}

type CsvHeader = Pick<ClaimedImport, 'delimiter' | 'columns'>

/**
 * Reads the header of a CSV file that starts with `head`. It is on the line `from_line`, because Excel may write `sep=;` before it. The
 * delimiter is the one with the most known columns.
 */
const readHeader = (head: Buffer): CsvHeader & { from_line: number } => {
  const named = /^"?sep=(.)"?[\r\n]/i.exec(head.toString('latin1', 0, 16))?.[1]
  const from_line = named ? 2 : 1
  const [best] = (named ? [named] : DELIMITERS)
    .map((delimiter) => ({ delimiter, from_line, columns: columnsOf(head, { delimiter, from_line }) }))
    .toSorted((a, b) => countFields(b.columns) - countFields(a.columns))
  const error = headerError(best!.columns)
  if (error !== undefined) throw new UnreadableFile(error)
  return best!
}

const PROPERTIES: Record<string, TSchema> = VisitorLead.properties

/** Spreadsheets write TRUE, and 1500.00 where a column shows decimals. A list is JSON. */
const cellValue = (field: string, cell: string): unknown => {
  const { type } = PROPERTIES[field]!
  if (type === 'boolean') return cell.toLowerCase()
  if (type !== 'array' && type !== 'object')
    return type === 'integer' ? cell.trim().replace(/^(-?\d+)\.0+$/, '$1') : cell
  try {
    return cell.trim() === '' ? undefined : JSON.parse(cell)
  } catch (cause) {
    throw new ServiceError('invalid', `The ${field} must be JSON.`, { cause })
  }
}

/** The fields of a row. Like a form, CSV has only text. */
const bodyOf = (fields: (string | undefined)[], cells: string[]): Body => {
  if (cells.slice(fields.length).some((cell) => cell.trim() !== ''))
    throw new ServiceError('invalid', `The row has ${cells.length} cells, and the header ${fields.length}.`)
  const given: Record<string, unknown> = {}
  const lists: string[] = []
  const attributes: Record<string, string> = {}
  for (const [index, field] of fields.entries()) {
    if (field === undefined || cells[index] === undefined) continue
    const cell = unguarded(cells[index])
    if (field.startsWith('attributes.')) {
      attributes[field.slice('attributes.'.length)] = cell
      continue
    }
    given[field] = cellValue(field, cell)
    // The options of items are read from the text of the JSON.
    if (Array.isArray(given[field])) lists.push(`${JSON.stringify(field)}:${cell}`)
  }
  if (Object.keys(attributes).length > 0)
    given['attributes'] = { ...(given['attributes'] as object | undefined), ...attributes }
  const json = lists.length > 0 ? { json: `{${lists.join()}}` } : {}
  return { fields: exportedFields(given), form: true, ...json, errors: textErrors(given) }
}

/** The first bytes of a stream, as many as a row may have, and the whole stream. */
const withHead = async (bytes: Readable) => {
  const head: Buffer[] = []
  const rest: AsyncIterableIterator<Buffer> = bytes[Symbol.asyncIterator]()
  for (let size = 0; size < MAX_ROW_BYTES; size += head.at(-1)!.length) {
    const { value, done } = await rest.next()
    if (done) break
    head.push(value)
  }
  const all = async function* () {
    yield* head
    yield* rest
  }
  return { head: Buffer.concat(head), all: all() }
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
  let chunks: AsyncIterable<Buffer> = bytes
  let start: Options = {}
  if (position === 0) {
    const { head, all } = await withHead(bytes)
    const { columns, delimiter, from_line } = readHeader(head)
    Object.assign(header, { columns, delimiter })
    chunks = all
    // The first record is the header.
    start = { from_line, from: 2 }
  }
  const fields = fieldsOf(header.columns)
  const parser = parse({ ...CSV, ...start, info: true, delimiter: header.delimiter })
  // The parser throws the errors of the pipeline.
  pipeline(inPieces(chunks), parser, () => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>)
      yield { end: position + info.bytes, read: () => bodyOf(fields, record) }
  } catch (error) {
    // Other errors are not of the file.
    throw error instanceof CsvError
      ? new UnreadableFile(`The next rows are no CSV: ${error.message}.`)
      : error
  }
}
