// The maximum length of a cell that may be a number or a boolean. Longer cells are not normalised, because
// normalising a megabyte of accents takes a minute.
const LONGEST_CELL = 64

/**
 * Returns a cell without padding, and with plain spaces, digits and minus signs. Returns undefined if the
 * cell is longer than LONGEST_CELL.
 */
const simplify = (cell: string): string | undefined => {
  const text = cell.trim()
  if (text.length > LONGEST_CELL) return undefined
  // NFKC turns no-break spaces and narrow spaces into plain spaces.
  return text
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .replace(/[\u2212\u2013]/g, '-')
    .trim()
}

const PLAIN = /^[+-]?\d+(\.0*)?$/
// Matches groups of three digits. All groups must have the same separator.
const GROUPED = /^[+-]?[1-9]\d{0,2}([ ,'’])\d{3}(\1\d{3})*(\.0*)?$/
const SCIENTIFIC = /^[+-]?\d+(\.\d+)?e\+?\d{1,3}$/i
// Matches a number such as `4.000`, which means four in British notation and four thousand in German
// notation.
const AMBIGUOUS = /^[+-]?[1-9]\d{0,2}\.000$/

/**
 * Returns the whole number that a cell of a spreadsheet shows, such as 4500 for `£4,500.00`, `4 500` and
 * `4.5E+03`, or -4500 for `(4,500)`. Returns undefined for a fraction, for any other text, and for an
 * ambiguous text such as `12,34` or `4.000`.
 */
export const readInteger = (cell: string): number | undefined => {
  const signed = simplify(cell)?.replace(/^\((.*)\)$/, '-$1')
  if (signed === undefined) return undefined
  // Excel's accounting format shows zero as a dash.
  if (/^£ *-$/.test(signed)) return 0
  const digits = signed.replace(/^([+-]?) *(£|GBP) */i, '$1').replace(/ *(£|GBP)$/i, '')
  if (AMBIGUOUS.test(digits)) return undefined
  const isNumber = PLAIN.test(digits) || GROUPED.test(digits) || SCIENTIFIC.test(digits)
  const number = isNumber ? Number(digits.replace(/[ ,'’]/g, '')) : Number.NaN
  return Number.isInteger(number) ? number : undefined
}

const TRUE = /^(true|t|yes|y|on|1(\.0+)?)$/i
const FALSE = /^(false|f|no|n|off|0(\.0+)?)$/i

/** Returns the boolean that a cell of a spreadsheet shows. Returns undefined for any other text. */
export const readBoolean = (cell: string): boolean | undefined => {
  const text = simplify(cell) ?? ''
  if (TRUE.test(text)) return true
  return FALSE.test(text) ? false : undefined
}
