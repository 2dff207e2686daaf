const ROOT = /^<((?:[A-Za-z_][\w.-]*:)?svg)[\s/>]/
const DOCTYPE = /^<!DOCTYPE\s+([^\s>[]+)/

/**
 * Whether the first element of a text is `svg`, with or without a namespace prefix, after whatever XML allows before it:
 * a byte order mark, whitespace, an XML declaration, instructions, comments, and a document type of the same name
 * (so an HTML page that starts with an svg element is none). Takes time in proportion to the text's length.
 */
export const isSvg = (text: string): boolean => {
  let at = text.startsWith('\uFEFF') ? 1 : 0
  let doctype: string | undefined
  for (;;) {
    at = skipWhitespace(text, at)
    const next = text.slice(at, at + 200)
    if (next.startsWith('<?')) at = after(text, '?>', at + 2)
    else if (next.startsWith('<!--')) at = after(text, '-->', at + 4)
    else if (doctype === undefined && DOCTYPE.test(next)) {
      doctype = DOCTYPE.exec(next)?.[1]
      at = afterDoctype(text, at + 2)
    } else {
      const root = ROOT.exec(next)?.[1]
      return root !== undefined && (doctype === undefined || doctype === root)
    }
    if (at === -1) return false
  }
}

const skipWhitespace = (text: string, from: number): number => {
  let at = from
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at += 1
  return at
}

const after = (text: string, end: string, from: number): number => {
  const found = text.indexOf(end, from)
  return found === -1 ? -1 : found + end.length
}

/** Past the `>` of a document type, whose quoted texts, comments and internal subset may hold any `>` of their own. */
const afterDoctype = (text: string, from: number): number => {
  let inSubset = false
  for (let at = from; at !== -1 && at < text.length; ) {
    const character = text.charAt(at)
    if (character === '>' && !inSubset) return at + 1
    if (character === '[') inSubset = true
    if (character === ']') inSubset = false
    if (character === '"' || character === "'") at = after(text, character, at + 1)
    else if (text.startsWith('<!--', at)) at = after(text, '-->', at + 4)
    else at += 1
  }
  return -1
}
