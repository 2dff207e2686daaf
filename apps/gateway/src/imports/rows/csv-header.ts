import { type Options, parse } from 'csv-parse/sync'
import { LEAD_FIELDS } from '../../exports/lead-csv'
import { VisitorLead } from '../../leads/visitor-lead-fields'
import { MAX_ROW_BYTES, UnreadableFile } from './rows'

export const FIELDS = Object.keys(VisitorLead.properties)

const REQUIRED = VisitorLead.required ?? []

// Of several with as many known columns, the first counts.
const DELIMITERS = [',', ';', '\t', '|']

/** How rows are read: RFC 4180, and what spreadsheets write. */
export const CSV = {
  // The parser itself would expect the end of the first line at all lines.
  record_delimiter: ['\r\n', '\n', '\r'],
  skip_records_with_empty_values: true,
  // Ten times as fast for lines without even a comma.
  skip_empty_lines: true,
  relax_column_count: true,
  relax_quotes: true,
  max_record_size: MAX_ROW_BYTES,
} satisfies Options

export interface CsvHeader {
  delimiter: string
  columns: string[]
}

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

/** The field of each column, by the letters of its name; undefined for an unknown column. */
export const fieldsOf = (columns: string[]): (string | undefined)[] =>
  columns.map((name) => FIELD_OF.get(lettersOf(name)))

const countFields = (columns: string[]) => fieldsOf(columns.slice(0, MAX_COLUMNS)).filter(Boolean).length

// With the wrong delimiter, quotes may have no end.
const columnsOf = (head: Buffer, options: Options): string[] => {
  try {
    return parse(head, { ...CSV, ...options, to: 1 })[0] ?? []
  } catch {
    return []
  }
}

const refuseColumns = (columns: string[]): void => {
  if (columns.length > MAX_COLUMNS)
    throw new UnreadableFile(`The header has ${columns.length} columns, and may have ${MAX_COLUMNS}.`)
  // Its letters alone would be known.
  if (columns.some((name) => name.includes('\0')))
    throw new UnreadableFile('The header has a NUL, as UTF-16 has where its byte order mark is missing.')
  const fields = fieldsOf(columns).filter((field) => field !== undefined)
  if (fields.length === 0)
    throw new UnreadableFile(`The first row has no known column. There are: ${FIELDS.join(', ')}.`)
  const twice = fields.find((field, index) => fields.indexOf(field) < index)
  if (twice !== undefined) throw new UnreadableFile(`The header has the column ${twice} twice.`)
  const missing = REQUIRED.filter((field) => !fields.includes(field))
  if (missing.length > 0)
    throw new UnreadableFile(`The header lacks what each row must have: ${missing.join(', ')}.`)
}

/**
 * Reads the header of a CSV file that starts with `head`. It is on the line `from_line`, because Excel may write `sep=;` before it. The
 * delimiter is the one with the most known columns. Throws UnreadableFile for a header with which every row would be refused.
 */
export const readHeader = (head: Buffer): CsvHeader & { from_line: number } => {
  const named = /^"?sep=(.)"?[\r\n]/i.exec(head.toString('latin1', 0, 16))?.[1]
  const from_line = named ? 2 : 1
  const [best] = (named ? [named] : DELIMITERS)
    .map((delimiter) => ({ delimiter, from_line, columns: columnsOf(head, { delimiter, from_line }) }))
    .toSorted((a, b) => countFields(b.columns) - countFields(a.columns))
  refuseColumns(best!.columns)
  return best!
}
