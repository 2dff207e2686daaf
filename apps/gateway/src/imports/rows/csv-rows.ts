import { pipeline, type Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import {
  type ClaimedImport,
  isInvisible,
  isReportColumn,
  keepLetters,
  LONGEST_NAME,
  nameByPosition,
  oneLine,
} from '@leadwire/contracts'
import { addErrors, type Body, labelField, listTextErrors } from '@leadwire/requests'
import { type FieldErrors, ServiceError, whenValid } from '@leadwire/service-kit'
import type { TSchema } from '@sinclair/typebox'
import { CsvError, type Info, type Options, parse } from 'csv-parse'
import { parse as parseSync } from 'csv-parse/sync'
import { LEAD_FIELDS, unguarded } from '../../exports/lead-csv'
import { IMPORT_FIELDS } from '../../leads/lead-rows'
import { VisitorLeadBody } from '../../leads/visitor-lead'
import type { IgnoredColumns } from './ignored-columns'
import { readBoolean, readInteger } from './read-cell'
import { exportedFields, FIELDS, MAX_ROW_BYTES, type Row, UnreadableFile } from './rows'

/** How rows are parsed: RFC 4180, and the variants that spreadsheets write. */
const CSV = {
  // Lets each line end with any of these characters. By default, all lines must end like the first line.
  record_delimiter: ['\r\n', '\n', '\r'],
  skip_records_with_empty_values: true,
  // Skips lines without any character. This option is ten times as fast as `skip_records_with_empty_values`.
  skip_empty_lines: true,
  relax_column_count: true,
  relax_quotes: true,
  max_record_size: MAX_ROW_BYTES,
} satisfies Options

// If several delimiters give the same number of known columns, the first one wins.
const DELIMITERS = [',', ';', '\t', '|']

// The number of columns that an Excel sheet can have. A limit is needed, because the columns are stored again
// with each batch of rows.
const MAX_COLUMNS = 16_384

// Includes the names that an export gives to the fields of a customer, such as `customer.email`.
const FIELDS_BY_LETTERS = new Map(
  FIELDS.flatMap((field) => [
    [keepLetters(field), field] as const,
    ...(LEAD_FIELDS.includes(field) ? [] : [[keepLetters(`customer.${field}`), field] as const]),
  ]),
)

const ATTRIBUTE = /^attributes\.[a-z][a-z0-9_]{0,39}$/

/** Returns the attribute field of a column: `attributes.utm_source` for `Attributes.UTM Source`. */
const findAttribute = (name: string): string | undefined =>
  ATTRIBUTE.exec(
    name
      .trim()
      .toLowerCase()
      .replace(/[\s-]+/g, '_'),
  )?.[0]

/**
 * Returns the field of each column. This is the field with the same letters, or `attributes.KEY`. The field
 * of an unknown column is undefined.
 */
const findFields = (columns: string[]) =>
  columns.map(
    (name) => findAttribute(name.slice(0, LONGEST_NAME)) ?? FIELDS_BY_LETTERS.get(keepLetters(name)),
  )

const countFields = (columns: string[]) => findFields(columns.slice(0, MAX_COLUMNS)).filter(Boolean).length

// Returns no columns if parsing fails. With a wrong delimiter, a quoted cell may have no end.
const parseColumns = (head: Buffer, options: Options): string[] =>
  whenValid(() => parseSync(head, { ...CSV, ...options, to: 1 })[0]) ?? []

/** Returns the reason why all rows below a header would be refused, or undefined. */
const headerError = (columns: string[]): string | undefined => {
  if (columns.length > MAX_COLUMNS)
    return `The header has ${columns.length} columns. It may have at most ${MAX_COLUMNS}.`
  // Refuses NULs. Only the letters of a name are compared, so a name with NULs would still match a field.
  if (columns.some((name) => name.includes('\0')))
    return 'The header contains NUL characters. Save the file as UTF-8, or as UTF-16 with a byte order mark.'
  const fields = findFields(columns).filter((field) => field !== undefined)
  if (fields.length === 0) return `The first row has no known column. Known columns: ${FIELDS.join(', ')}.`
  const twice = fields.find((field, index) => fields.indexOf(field) < index)
  if (twice !== undefined) return `The header has the column ${twice} twice.`
  // Requires no fields if the file has external ids, because a row with an external id may update an existing
  // lead.
  if (fields.includes('external_id')) return undefined
  const missing = VisitorLeadBody.required!.filter((field) => !fields.includes(field))
  return missing.length > 0 ? `The header lacks required columns: ${missing.join(', ')}.` : undefined
}

/**
 * Adds the unknown columns to `ignored`. Call this function for a refused header too, because the file may
 * have a missing field under another name.
 */
const addUnknown = (columns: string[], ignored: IgnoredColumns): void => {
  const fields = findFields(columns)
  for (const [index, column] of columns.entries())
    if (fields[index] === undefined && !isReportColumn(column)) ignored.add(column)
}

/**
 * Adds to `ignored` the columns that have no name, but have a value in this row. Columns without a name and
 * without any value are common, because spreadsheets write such columns after the last column.
 */
const addUnnamed = (unnamed: number[], cells: string[], ignored: IgnoredColumns): void => {
  for (const index of unnamed) if (!isInvisible(cells[index] ?? '')) ignored.add(nameByPosition(index))
}

type CsvHeader = Pick<ClaimedImport, 'delimiter' | 'columns'>

/**
 * Reads the header of a CSV file that starts with `head`. Chooses the delimiter that gives the most known
 * columns. Returns the line of the header as `from_line`, because Excel may write a line such as `sep=;`
 * before the header.
 */
const readHeader = (head: Buffer): CsvHeader & { from_line: number } => {
  const named = /^"?sep=(.)"?[\r\n]/i.exec(head.toString('latin1', 0, 16))?.[1]
  const from_line = named ? 2 : 1
  const [best] = (named ? [named] : DELIMITERS)
    .map((delimiter) => ({ delimiter, from_line, columns: parseColumns(head, { delimiter, from_line }) }))
    .toSorted((a, b) => countFields(b.columns) - countFields(a.columns))
  return best!
}

const PROPERTIES: Record<string, TSchema> = IMPORT_FIELDS

/**
 * Returns the value of a cell in the type of its field. Returns undefined for an unreadable integer or
 * boolean. Throws `invalid` for malformed JSON.
 */
const readCell = (field: string, cell: string): unknown => {
  const { type } = PROPERTIES[field]!
  if (type === 'string' || isInvisible(cell)) return cell
  if (type === 'boolean') return readBoolean(cell)
  if (type === 'integer') return readInteger(cell)
  try {
    return JSON.parse(cell)
  } catch (cause) {
    throw new ServiceError('invalid', `The ${field} must be JSON.`, { cause })
  }
}

const SHOWN_CHARACTERS = 40

const cellError = (field: string, cell: string): string => {
  const isInteger = PROPERTIES[field]!['type'] === 'integer'
  const rule = isInteger ? 'must be an integer, such as 4500.' : 'field must be true or false.'
  const shown = [...oneLine(cell.trim())].slice(0, SHOWN_CHARACTERS).join('')
  return `The ${labelField(field)} ${rule} The cell has "${shown}".`
}

/**
 * Returns the fields of a row. Marks the fields as a form, because CSV has only text. Throws `invalid` if the
 * row has more cells than the header, or a cell with malformed JSON.
 */
const readRow = (fields: (string | undefined)[], cells: string[]): Body => {
  if (cells.slice(fields.length).some((cell) => cell.trim() !== ''))
    throw new ServiceError(
      'invalid',
      `The row has ${cells.length} cells, but the header has ${fields.length}.`,
    )
  const given: Record<string, unknown> = {}
  const lists: string[] = []
  const attributes: Record<string, string> = {}
  const errors: FieldErrors = {}
  for (const [index, field] of fields.entries()) {
    if (field === undefined || cells[index] === undefined) continue
    const cell = unguarded(cells[index])
    if (field.startsWith('attributes.')) {
      attributes[field.slice('attributes.'.length)] = cell
      continue
    }
    const value = readCell(field, cell)
    if (value === undefined) errors[field] = [cellError(field, cell)]
    else given[field] = value
    // Keeps the source text of lists, because the options of quote items are read from this text.
    if (Array.isArray(value)) lists.push(`${JSON.stringify(field)}:${cell}`)
  }
  if (Object.keys(attributes).length > 0)
    given['attributes'] = { ...(given['attributes'] as object | undefined), ...attributes }
  const json = lists.length > 0 ? { json: `{${lists.join()}}` } : {}
  return {
    fields: exportedFields(given),
    form: true,
    ...json,
    errors: addErrors(listTextErrors(given), errors),
  }
}

/**
 * Returns the start of a stream, and an iterator over the whole stream. The start has at least MAX_ROW_BYTES,
 * unless the stream is shorter.
 */
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
 * Yields the bytes in small pieces. Before each piece, lets the event loop run, so that the gateway serves
 * other requests. The parser needs up to 70 µs for a blank row of commas. Without small pieces, the bytes
 * that a socket delivered at once delayed other requests by half a minute.
 */
async function* inPieces(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of chunks)
    for (let at = 0; at < chunk.length; at += PIECE) {
      await setImmediate()
      yield chunk.subarray(at, at + PIECE)
    }
}

/**
 * Yields the rows of a CSV file from `position` on. `bytes` is the part of the file that starts at
 * `position`. At position 0, first reads the header, writes the header to `header`, and adds the unknown
 * columns to `ignored`. Throws UnreadableFile if the header makes every row invalid (`headerError`), or if
 * the following rows are not valid CSV.
 */
export async function* csvRows(
  bytes: Readable,
  position: number,
  { header, ignored }: { header: CsvHeader; ignored: IgnoredColumns },
): AsyncGenerator<Row> {
  let chunks: AsyncIterable<Buffer> = bytes
  let start: Options = {}
  if (position === 0) {
    const { head, all } = await withHead(bytes)
    const { columns, delimiter, from_line } = readHeader(head)
    addUnknown(columns, ignored)
    const error = headerError(columns)
    if (error !== undefined) throw new UnreadableFile(error)
    Object.assign(header, { columns, delimiter })
    chunks = all
    // Skips the first record, which is the header.
    start = { from_line, from: 2 }
  }
  const fields = findFields(header.columns)
  const unnamed = header.columns.flatMap((name, index) => (isInvisible(name) ? [index] : []))
  const parser = parse({ ...CSV, ...start, info: true, delimiter: header.delimiter })
  // Ignores errors here, because the parser throws the errors of the pipeline.
  pipeline(inPieces(chunks), parser, () => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      addUnnamed(unnamed, record, ignored)
      yield {
        end: position + info.bytes,
        read: () => readRow(fields, record),
        source: () => JSON.stringify(record),
      }
    }
  } catch (error) {
    // Converts only a CsvError. Any other error is not caused by the content of the file.
    throw error instanceof CsvError
      ? new UnreadableFile(
          `The rows after the last processed row (\`rows_read\`) are not valid CSV: ${error.message}.`,
        )
      : error
  }
}
