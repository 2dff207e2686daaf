import { type FileHandle, open } from 'node:fs/promises'
import type { FileFormat } from '@leadwire/contracts'
import { detectOfficeFormat } from './detect-office-format'
import type { Detected } from './file-errors'
import { isSvg } from './is-svg'
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
