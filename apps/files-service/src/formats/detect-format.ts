import { type FileHandle, open } from 'node:fs/promises'
import type { FileFormat } from '@leadwire/contracts'
import { detectOfficeFormat } from './detect-office-format'
import type { Detected } from './file-errors'
import { decodeMarked, readText } from './read-text'

// Enough for any drawing program's comments and document type before the first element.
const PROLOG_LIMIT = 256 * 1024

// PDF readers look for the header behind as many bytes (PDF 1.7 reference, appendix H, note 13).
const PDF_LEAD = 1024
const PDF = '%PDF-'

const SIGNATURES: [FileFormat, string][] = [
  ['jpeg', '\xff\xd8\xff'],
  ['png', '\x89PNG\r\n\x1a\n'],
  ['gif', 'GIF87a'],
  ['gif', 'GIF89a'],
]
const ZIP = 'PK\x03\x04'
const COMPOUND_FILE = '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'

// What web servers write by mistake before a file.
const LEAD = /^(?:\xef\xbb\xbf)?[\t\n\r ]*/

/**
 * The format of a file by its content alone: by its signature, so that it need not decode. Text that starts with another format's
 * signature is of that format.
 */
export const detectFormat = async (path: string): Promise<Detected> => {
  const file = await open(path)
  try {
    return await detect(path, file)
  } finally {
    await file.close()
  }
}

const detect = async (path: string, file: FileHandle): Promise<Detected> => {
  const bytes = await readHead(file, PDF_LEAD + PDF.length)
  const head = bytes.toString('latin1')
  const format = SIGNATURES.find(([, signature]) => head.startsWith(signature))?.[0]
  if (format) return { format }
  const start = LEAD.exec(head)![0].length
  if (head.startsWith(PDF, start)) return { format: 'pdf' }
  if (head.startsWith(ZIP, start)) return detectOfficeFormat(path, file, start)
  if (head.startsWith(COMPOUND_FILE)) return { why: { docx: NOT_ZIPPED, xlsx: NOT_ZIPPED } }
  const { control, charset } = await readText(path, bytes)
  if (control !== undefined) {
    // In a text it would be a word about PDF.
    return head.includes(PDF)
      ? { format: 'pdf' }
      : notText(`The file contains the control character ${codeOf(control)}.`)
  }
  // Before the check of the charset, because an SVG may declare any.
  if (isSvg(decodeMarked(await readHead(file, PROLOG_LIMIT)))) return { format: 'svg' }
  return charset ? { format: 'txt', charset } : notText('The file is not well-formed text.')
}

const NOT_ZIPPED =
  'The file is encrypted, or older than .docx and .xlsx. Save it as one of these, without a password.'

const codeOf = (character: string) =>
  `0x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

const notText = (reason: string): Detected => {
  const why = `${reason} Text must be UTF-8, Windows-1252, or UTF-16 with a byte order mark.`
  return { why: { txt: why, svg: why } }
}

const readHead = async (file: FileHandle, length: number): Promise<Buffer> => {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, 0)
  return buffer.subarray(0, bytesRead)
}

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
const isSvg = (text: string): boolean => {
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
