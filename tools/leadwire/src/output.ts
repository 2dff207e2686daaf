/** A record as a command prints it: fields in the names of the public interface. */
export type Output = Record<string, unknown>

const cell = (value: unknown): string => {
  if (value === null) return '-'
  if (Array.isArray(value)) return value.map(cell).join(' ')
  return typeof value === 'object' ? `\n  ${JSON.stringify(value)}` : String(value)
}

const table = (rows: Output[]): string => {
  const columns = Object.keys(rows[0]!)
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)))
  return cells
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** One record as `field: value` lines, many as a table; with `json` as JSON on one line. */
export const render = (result: Output | Output[], { json }: { json: boolean }): string => {
  if (json) return JSON.stringify(result)
  if (Array.isArray(result)) return result.length === 0 ? 'none' : table(result)
  return Object.entries(result)
    .map(([field, value]) => `${field}: ${cell(value)}`)
    .join('\n')
}
