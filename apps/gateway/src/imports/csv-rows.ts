import { pipeline, type Readable } from 'node:stream'
import { ServiceError } from '@leadwire/service-kit'
import { CsvError, type Info, parse } from 'csv-parse'
import { VisitorLead } from '../leads/visitor-lead-fields'
import type { Body } from '../validation/checker'
import { textFaults } from '../validation/text-faults'
import { FileFault, MAX_ROW_BYTES, type Row } from './rows'

/** What holds a list has its JSON in one cell. */
const LISTS = Object.entries(VisitorLead.properties)
  .filter(([, { type }]) => type === 'array')
  .map(([name]) => name)

// What an export puts before a cell that a spreadsheet would take for a formula.
const unguarded = (cell: string) => cell.replace(/^'(?=[=+\-@\t\r])/, '')

const listOf = (name: string, cell: string): unknown => {
  try {
    return JSON.parse(cell)
  } catch (cause) {
    throw new ServiceError('invalid', `The ${name} must be JSON.`, { cause })
  }
}

/** The fields of a row of cells; what a cell has no text for is absent. A CSV file has only text, as a form. */
const bodyOf = (columns: string[], cells: string[]): Body => {
  if (cells.length !== columns.length)
    throw new ServiceError('invalid', `The row has ${cells.length} cells, and the header ${columns.length}.`)
  const fields: Record<string, unknown> = Object.fromEntries(
    columns.map((name, index) => [name, unguarded(cells[index]!)]),
  )
  const lists = LISTS.filter((name) => fields[name])
  // The options of items are taken from the text of the JSON.
  const json = `{${lists.map((name) => `${JSON.stringify(name)}:${fields[name]}`).join(',')}}`
  for (const name of lists) fields[name] = listOf(name, fields[name] as string)
  return { fields, form: true, ...(lists.length > 0 && { json }), faults: textFaults(fields) }
}

const columnsOf = (header: string[]): string[] => {
  const columns = header.map((name) => name.trim())
  const twice = columns.find((name, index) => name !== '' && columns.indexOf(name) < index)
  if (twice !== undefined) throw new FileFault(`The header has the column ${twice} twice.`)
  return columns
}

// In this order, so that an error of the bytes, which is nobody's fault, stays what it is.
const faultOf = (error: unknown): unknown =>
  error instanceof CsvError ? new FileFault(`The next rows are no CSV: ${error.message}.`) : error

/**
 * The rows of CSV (RFC 4180) from byte `position` of a file on, without blank lines. Fills `columns`, when it is empty, with those
 * of the header, which is the first line then.
 */
export async function* csvRows(bytes: Readable, position: number, columns: string[]): AsyncGenerator<Row> {
  const parser = parse({
    info: true,
    bom: position === 0,
    // Of what it finds out by itself, the end of the first line would have to be that of all.
    record_delimiter: ['\r\n', '\n', '\r'],
    skip_empty_lines: true,
    relax_column_count: true,
    relax_quotes: true,
    max_record_size: MAX_ROW_BYTES,
  })
  // Its failure is the parser's, whose rows are iterated.
  pipeline(bytes, parser, () => undefined)
  try {
    for await (const { record, info } of parser as AsyncIterable<{ record: string[]; info: Info }>) {
      if (columns.length === 0) columns.push(...columnsOf(record))
      else yield { end: position + info.bytes, read: () => bodyOf(columns, record) }
    }
  } catch (error) {
    throw faultOf(error)
  }
}
