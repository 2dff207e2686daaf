import { isReportColumn, nameByPosition } from '@leadwire/contracts'

const readObject = (line: string): object => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {}
  } catch {
    return {}
  }
}

/**
 * Returns the cells by the names of their columns. Leaves out the columns that a download of refused rows
 * adds, and empty cells without a column.
 */
const nameCells = (cells: string[], columns: string[]): object =>
  Object.fromEntries(
    cells
      .map((cell, index): [string, string] => [columns[index]?.trim() || nameByPosition(index), cell])
      .filter(([name, cell], index) => !isReportColumn(name) && (cell !== '' || columns[index]?.trim())),
  )

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
  return JSON.stringify(
    format === 'csv' ? nameCells(stored as string[], columns) : readObject(stored as string),
  )
}
