import { isReportColumn, nameByPosition } from '@leadwire/contracts'

/** Returns the line itself if it is a JSON object. Parsed and rendered again, a long number would change. */
const keepObject = (line: string): string => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? line.trim() : '{}'
  } catch {
    return '{}'
  }
}

/**
 * Returns the cells by the names of their columns. A second column of the same name is named by its position.
 * Leaves out the columns that a download of refused rows adds, and empty cells without a column.
 */
const nameCells = (cells: string[], columns: string[]): object => {
  const named = new Map<string, string>()
  for (const [index, cell] of cells.entries()) {
    const column = columns[index]?.trim() ?? ''
    if (isReportColumn(column) || (column === '' && cell === '')) continue
    const name = column === '' || named.has(column) ? nameByPosition(index) : column
    named.set(name, cell)
  }
  return Object.fromEntries(named)
}

/**
 * Renders the values of a refused row as a JSON object. `source` is the row as it is stored: an array of
 * cells, or the text of a line. Returns an empty object if there is no source, or if the line is not a JSON
 * object.
 */
export const renderRowValues = (
  { format, columns }: { format: string; columns: string[] },
  source: string | null,
): string => {
  if (source === null) return '{}'
  const stored: unknown = JSON.parse(source)
  return format === 'csv'
    ? JSON.stringify(nameCells(stored as string[], columns))
    : keepObject(stored as string)
}
