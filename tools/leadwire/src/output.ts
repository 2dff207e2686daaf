/** A record as a command prints it: fields in the names of the public interface. */
export type Output = Record<string, unknown>

// What would move a terminal's cursor, or turn text around. The joiners that hold emoji and some scripts together do neither.
const UNSAFE = /(?!\u200c|\u200d)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** A line for a terminal: others choose names and descriptions, so characters that are not shown stand there as their codes. */
export const printable = (line: string): string =>
  line.replace(UNSAFE, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)

/** The same of text with lines. */
export const printableLines = (text: string): string => text.split(/\r?\n/).map(printable).join('\n')

/** The same as JSON, which means what it meant before. */
const printableJson = (value: unknown): string =>
  JSON.stringify(value).replace(UNSAFE, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )

const cell = (value: unknown): string => {
  if (value === null) return '-'
  if (Array.isArray(value)) return value.map(cell).join(' ')
  return typeof value === 'object' ? `\n  ${printableJson(value)}` : printable(String(value))
}

const table = (rows: Output[]): string => {
  const columns = Object.keys(rows[0]!)
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column]).trim()))]
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
  if (json) return printableJson(result)
  if (Array.isArray(result)) return result.length === 0 ? 'none' : table(result)
  return Object.entries(result)
    .map(([field, value]) => `${field}: ${cell(value)}`)
    .join('\n')
}
