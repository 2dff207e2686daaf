/** A record that a command prints. Its fields have the names of the public interface. */
export type Output = Record<string, unknown>

// The characters that move a terminal's cursor or change the direction of text. Excludes the joiners, which
// emoji and some scripts need.
const UNSAFE = /(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/**
 * Makes a line safe for a terminal. Replaces control characters, which names and descriptions may contain,
 * with codes.
 */
export const printable = (line: string): string =>
  line.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

/** Makes text of several lines safe for a terminal. */
export const printableLines = (text: string): string => text.split(/\r?\n/).map(printable).join('\n')

/** Renders JSON that is safe for a terminal and has the same value. */
const renderJson = (value: unknown): string =>
  JSON.stringify(value).replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )

const renderCell = (value: unknown): string => {
  if (value === null) return '-'
  if (Array.isArray(value)) return value.map(renderCell).join(' ')
  return typeof value === 'object' ? `\n  ${renderJson(value)}` : printable(String(value))
}

const renderTable = (rows: Output[]): string => {
  const columns = Object.keys(rows[0]!)
  const cells = [columns, ...rows.map((row) => columns.map((column) => renderCell(row[column]).trim()))]
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

/**
 * Renders a record as `field: value` lines, or an array as a table. With `json`, renders JSON on one line.
 */
export const render = (result: Output | Output[], { json }: { json: boolean }): string => {
  if (json) return renderJson(result)
  if (Array.isArray(result)) return result.length === 0 ? 'none' : renderTable(result)
  return Object.entries(result)
    .map(([field, value]) => `${field}: ${renderCell(value)}`)
    .join('\n')
}
