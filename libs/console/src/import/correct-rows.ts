import { keepLetters } from '@leadwire/contracts/import-columns'
import { createImport, type FailedRow, type Import } from '../imports'

/** The new texts of a row's columns, by the name of the column. */
export type Edits = Record<string, string>

/** A failed row with its edits. */
export interface CorrectedRow {
  row: FailedRow
  edits: Edits
}

/** A column of a row with its errors. */
export interface InvalidColumn {
  column: string
  errors: string[]
}

/** The key of errors that concern the row as a whole. */
const WHOLE_ROW = 'row'

/** A cell without a column, which cannot be imported. */
const UNNAMED = /^column \d+$/

/** Finds the column of a field. NDJSON has the exact names of fields. CSV may spell them differently. */
const findColumn = (columns: string[], field: string, format: Import['format']): string | undefined => {
  if (columns.includes(field)) return field
  if (format === 'ndjson') return undefined
  const letters = [keepLetters(field), keepLetters(`customer.${field}`)]
  return columns.find((column) => letters.includes(keepLetters(column)))
}

/** Lists the invalid columns of a row. If no column has a field, the field is a new column. */
export const listInvalidColumns = (
  { values, errors }: FailedRow,
  format: Import['format'],
): InvalidColumn[] => {
  const columns = Object.keys(values)
  const found = new Map<string, string[]>()
  for (const [field, texts] of Object.entries(errors)) {
    if (field === WHOLE_ROW) continue
    // An error of an element, such as `quotes.0.items`, belongs to the column of the whole list.
    const [whole = field] = field.split('.')
    const column = findColumn(columns, field, format) ?? findColumn(columns, whole, format) ?? field
    found.set(column, [...(found.get(column) ?? []), ...texts])
  }
  return [...found].map(([column, texts]) => ({ column, errors: texts }))
}

export const listRowErrors = ({ errors }: FailedRow): string[] => errors[WHOLE_ROW] ?? []

/** Returns the text of a value. Lists and objects are JSON. */
const renderValue = (value: unknown): string => {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Returns the text of a column. An exported lead has the fields of its customer in `customer`. */
export const readText = ({ values }: FailedRow, column: string): string => {
  const customer = values['customer'] as Record<string, unknown> | null | undefined
  return renderValue(values[column] ?? customer?.[column])
}

/** Returns the edits that change the row. */
export const listChanges = ({ row, edits }: CorrectedRow): Edits =>
  Object.fromEntries(Object.entries(edits).filter(([column, text]) => text !== readText(row, column)))

const parseEdit = (text: string, before: unknown): unknown => {
  if (typeof before !== 'object' || before === null) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const renderLines = (corrected: CorrectedRow[]): string =>
  corrected
    .map(({ row: { values }, edits }) => {
      const changed = Object.entries(edits).map(([column, text]) => [column, parseEdit(text, values[column])])
      return `${JSON.stringify({ ...values, ...Object.fromEntries(changed) })}\n`
    })
    .join('')

const quoteCell = (text: string): string => `"${text.replaceAll('"', '""')}"`

/**
 * Renders rows as CSV. Ends a row after its last cell, because an empty cell would clear a field of a lead
 * that the row updates.
 */
const renderCsv = (corrected: CorrectedRow[]): string => {
  const rows = corrected.map(({ row, edits }) => ({ ...row.values, ...edits }) as Edits)
  const columns = [...new Set(rows.flatMap(Object.keys))].filter((column) => !UNNAMED.test(column))
  const lines = rows.map((row) => {
    const last = columns.findLastIndex((column) => column in row)
    return columns.slice(0, last + 1).map((column) => row[column] ?? '')
  })
  return [columns, ...lines].map((line) => `${line.map(quoteCell).join(',')}\r\n`).join('')
}

/** Returns a hash of a text. Web Crypto is not used, because it needs HTTPS. */
const hashText = (text: string): string => {
  let [high, low] = [0xdeadbeef, 0x41c6ce57]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  return `${(high >>> 0).toString(16)}${(low >>> 0).toString(16)}`
}

/** The imports of corrected rows, by the import and the row, until the page is reloaded. */
const corrections = new Map<string, number>()

export const findCorrection = (importId: number, { row }: FailedRow): number | undefined =>
  corrections.get(`${importId}/${row}`)

/**
 * Imports corrected rows of an import, with its choice of webhooks. Repeating the call with the same rows
 * creates no lead twice, because the idempotency key is computed from the rows.
 */
export const importCorrectedRows = async (source: Import, corrected: CorrectedRow[]): Promise<Import> => {
  const { id, format, webhooks, file_name: fileName } = source
  const text = format === 'csv' ? renderCsv(corrected) : renderLines(corrected)
  const created = await createImport({
    file: new Blob([text]),
    fileName: `Corrected rows of ${fileName ?? `import ${id}`}`,
    format,
    webhooks,
    idempotencyKey: `corrected-rows-of-${id}-${hashText(text)}`,
  })
  for (const { row } of corrected) corrections.set(`${id}/${row.row}`, created.id)
  return created
}
