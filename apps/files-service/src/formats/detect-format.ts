import { open } from 'node:fs/promises'
import type { FileFormat } from '@leadwire/contracts'
import { detectOfficeFormat } from './detect-office-format'
import { isSvg } from './is-svg'
import type { TextFindings } from './text-check'

// Enough for any drawing program's comments and document type before the first element.
const PROLOG_LIMIT = 256 * 1024

const ZIP = Buffer.from('PK\x03\x04', 'latin1')

const SIGNATURES: [FileFormat, Buffer][] = [
  ['jpeg', Buffer.from([0xff, 0xd8, 0xff])],
  ['png', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')],
  ['gif', Buffer.from('GIF87a', 'latin1')],
  ['gif', Buffer.from('GIF89a', 'latin1')],
  ['pdf', Buffer.from('%PDF-', 'latin1')],
  ['pdf', Buffer.from('\xef\xbb\xbf%PDF-', 'latin1')],
]

const startsWith = (bytes: Buffer, signature: Buffer) => bytes.subarray(0, signature.length).equals(signature)

/**
 * The format of a file by its content alone: by its signature, so that it need not decode. Text that begins with another
 * format's signature is of that format. Undefined for everything that is not one of ours.
 */
export const detectFormat = async (path: string, text: TextFindings): Promise<FileFormat | undefined> => {
  const head = await readHead(path, 16)
  const signed = SIGNATURES.find(([, signature]) => startsWith(head, signature))
  if (signed) return signed[0]
  if (startsWith(head, ZIP)) return detectOfficeFormat(path)
  if (!text.readable) return undefined
  // Before the check of the encoding, because an SVG may declare any.
  if (isSvg((await readHead(path, PROLOG_LIMIT)).toString('utf8'))) return 'svg'
  return text.utf8 ? 'txt' : undefined
}

const readHead = async (path: string, length: number): Promise<Buffer> => {
  const handle = await open(path, 'r')
  const { bytesRead, buffer } = await handle
    .read(Buffer.alloc(length), 0, length, 0)
    .finally(() => handle.close())
  return buffer.subarray(0, bytesRead)
}
