import { type FileHandle, open } from 'node:fs/promises'
import type { FileFormat } from '@leadwire/contracts'
import { detectOfficeFormat } from './detect-office-format'
import type { Detected } from './file-errors'
import { readBytes } from './read-bytes'
import { decodeMarked, readText } from './read-text'

// The number of bytes in which `detect` searches for the first element of an SVG. 256 KiB are enough for the
// comments and the document type that drawing programs write before the element.
const PROLOG_LIMIT = 256 * 1024

// PDF readers accept up to this many other bytes before the header (PDF 1.7 reference, appendix H, note 13).
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

// A byte order mark and whitespace, which some web servers put before a file by mistake.
const LEAD = /^(?:\xef\xbb\xbf)?[\t\n\r ]*/

/**
 * Detects the format of a file from its content. JPEG, PNG, GIF and PDF are recognised by their signatures
 * and are not decoded. A text that starts with the signature of another format counts as that format. The
 * time is proportional to the file's size, whatever the file contains. Throws if `signal` aborts.
 */
export const detectFormat = async (path: string, signal: AbortSignal): Promise<Detected> => {
  const file = await open(path)
  try {
    return await detect(path, file, signal)
  } finally {
    await file.close()
  }
}

const detect = async (path: string, file: FileHandle, signal: AbortSignal): Promise<Detected> => {
  const bytes = await readBytes(file, 0, PDF_LEAD + PDF.length)
  const head = bytes.toString('latin1')
  const format = SIGNATURES.find(([, signature]) => head.startsWith(signature))?.[0]
  if (format) return { format }
  const start = LEAD.exec(head)![0].length
  if (head.startsWith(PDF, start)) return { format: 'pdf' }
  if (head.startsWith(ZIP, start)) return detectOfficeFormat(file, start, signal)
  if (head.startsWith(COMPOUND_FILE)) return { why: { docx: NOT_ZIPPED, xlsx: NOT_ZIPPED } }
  const { control, charset } = await readText(path, bytes, signal)
  if (control !== undefined) {
    // Accepts a PDF header after other bytes only here, where the file is known to be binary. A text that
    // mentions "%PDF-" is not a PDF.
    if (head.includes(PDF)) return { format: 'pdf' }
    return refuseText(`The file contains the control character ${formatCode(control)}, so it is not a text.`)
  }
  // Checks for SVG before the charset, because an SVG may declare any charset.
  if (isSvg(decodeMarked(await readBytes(file, 0, PROLOG_LIMIT)))) return { format: 'svg' }
  return charset ? { format: 'txt', charset } : refuseText('The file is not a well-formed text.')
}

const NOT_ZIPPED =
  'The file is encrypted or in an old Office format. Save it as .docx or .xlsx, without a password.'

const formatCode = (character: string) =>
  `0x${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`

const refuseText = (reason: string): Detected => {
  const why = `${reason} Save it as UTF-8, Windows-1252, or UTF-16 with a byte order mark.`
  return { why: { txt: why, svg: why } }
}

const BETWEEN = /(?:[ \t\r\n]+|<\?.*?\?>|<!--.*?-->)*/sy
const DOCTYPE = /<!DOCTYPE\s+([^\s>[]+)/y
const ROOT = /<((?:[A-Za-z_][\w.-]*:)?svg)[\s/>]/y

const matchAt = (pattern: RegExp, text: string, at: number) => {
  pattern.lastIndex = at
  return pattern.exec(text)
}

/**
 * Returns whether the first element of a text is `svg`, with or without a namespace prefix. Skips everything
 * that XML allows before the first element: a byte order mark, whitespace, an XML declaration, processing
 * instructions, comments and a document type. The document type must have the same name as the element. This
 * rule excludes HTML pages. The time is proportional to the text's length.
 */
const isSvg = (text: string): boolean => {
  const skip = (at: number) => at + matchAt(BETWEEN, text, at)![0].length
  let at = skip(text.startsWith('\uFEFF') ? 1 : 0)
  const doctype = matchAt(DOCTYPE, text, at)?.[1]
  if (doctype !== undefined) at = skip(findDoctypeEnd(text, at))
  const root = matchAt(ROOT, text, at)?.[1]
  return root !== undefined && (doctype === undefined || doctype === root)
}

/**
 * Returns the position after the `>` that ends a document type. Skips any `>` in its quoted texts, comments
 * and internal subset.
 */
const findDoctypeEnd = (text: string, from: number): number => {
  const findAfter = (end: string, start: number) => {
    const found = text.indexOf(end, start)
    return found === -1 ? text.length : found + end.length
  }
  let inSubset = false
  let at = from
  while (at < text.length) {
    const character = text[at]!
    if (character === '>' && !inSubset) return at + 1
    if (character === '[' || character === ']') inSubset = character === '['
    if (character === '"' || character === "'") at = findAfter(character, at + 1)
    else if (text.startsWith('<!--', at)) at = findAfter('-->', at + '<!--'.length)
    else at += 1
  }
  return text.length
}
