const BETWEEN = /(?:[ \t\r\n]+|<\?.*?\?>|<!--.*?-->)*/sy
const DOCTYPE = /<!DOCTYPE\s+([^\s>[]+)/y
const IN_DOCTYPE = /"[^"]*"|'[^']*'|<!--.*?-->|[^"'<>[\]]+|(?!<!--)[<>[\]]/gsy
const ROOT = /<((?:[A-Za-z_][\w.-]*:)?svg)[\s/>]/y

const matchAt = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/**
 * Whether the first element of a text is `svg`, with or without a namespace prefix, after whatever XML allows before it:
 * a byte order mark, whitespace, an XML declaration, instructions, comments, and a document type of the same name
 * (so an HTML page that starts with an svg element is none). Takes time in proportion to the text's length.
 */
export const isSvg = (text: string): boolean => {
  const skip = (at: number) => at + matchAt(BETWEEN, text, at)![0].length
  let at = skip(text.startsWith('\uFEFF') ? 1 : 0)
  const doctype = matchAt(DOCTYPE, text, at)?.[1]
  if (doctype !== undefined) at = skip(afterDoctype(text, at))
  const root = matchAt(ROOT, text, at)?.[1]
  return root !== undefined && (doctype === undefined || doctype === root)
}

/** Past the `>` of a document type, whose quoted texts, comments and internal subset may hold any `>` of their own. */
const afterDoctype = (text: string, from: number): number => {
  let inSubset = false
  for (const { 0: token, index } of text.slice(from).matchAll(IN_DOCTYPE)) {
    if (token === '>' && !inSubset) return from + index + 1
    if (token === '[' || token === ']') inSubset = token === '['
  }
  return text.length
}
