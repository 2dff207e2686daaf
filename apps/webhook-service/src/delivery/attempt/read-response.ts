import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib'
import { decodeWindows1252, whenValid } from '@leadwire/service-kit'

/** How many bytes of a response are kept, in UTF-8. */
export const KEPT_BYTES = 4096

/** The first bytes of a response body, and its encoding. */
export interface ReceivedBody {
  bytes: Buffer
  /** Whether the body is longer than `bytes`. */
  isCut: boolean
  /** The values of the headers Content-Encoding and Content-Type. */
  contentEncoding: string
  contentType: string
}

// Makes a decoder accept data whose end is missing, because only the first bytes of a body are kept.
const FLUSH = { finishFlush: constants.Z_SYNC_FLUSH }

const createDecoder = (coding: string, bytes: Buffer) => {
  if (coding === 'gzip' || coding === 'x-gzip') return createGunzip(FLUSH)
  if (coding === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH })
  if (coding !== 'deflate') return undefined
  // Some servers send raw deflate data without the zlib header. The low four bits of a zlib header are 8.
  const hasHeader = (bytes[0]! & 0x0f) === 8
  return hasHeader ? createInflate(FLUSH) : createInflateRaw(FLUSH)
}

/** Returns the first decoded bytes. Returns the bytes unchanged if they are not in this coding. */
const decompress = async (bytes: Buffer, coding: string): Promise<Buffer> => {
  const decoder = createDecoder(coding, bytes)
  if (!decoder) return bytes
  const decoded: Buffer[] = []
  let length = 0
  decoder.end(bytes)
  try {
    for await (const chunk of decoder) {
      decoded.push(chunk)
      length += chunk.length
      // Stops early, because a small body may decode to gigabytes.
      if (length > KEPT_BYTES) break
    }
  } catch {
    if (length === 0) return bytes
  }
  return Buffer.concat(decoded)
}

/**
 * Decodes text in the charset of the Content-Type header (a WHATWG label), or in UTF-8 if the header names no
 * known charset.
 */
const decodeText = (bytes: Buffer, contentType: string, isCut: boolean): string => {
  const charset = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1] ?? 'utf-8'
  const createDecoder = (label: string) => new TextDecoder(label, { ignoreBOM: true })
  const decoder = whenValid(() => createDecoder(charset)) ?? createDecoder('utf-8')
  if (decoder.encoding === 'windows-1252') return decodeWindows1252(bytes)
  return decoder.decode(bytes, { stream: isCut })
}

/** Returns the first 4 KiB of a text, or null if the text is empty. */
export const cutText = (text: string): string | null => {
  const bytes = Buffer.from(text)
  if (bytes.length === 0) return null
  // Streaming mode drops an incomplete character at the end.
  const kept = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes.subarray(0, KEPT_BYTES), {
    stream: bytes.length > KEPT_BYTES,
  })
  // Removes NUL, because PostgreSQL rejects a text that contains NUL.
  return kept.replaceAll('\0', '')
}

/** Decompresses a response body and returns its first 4 KiB as text, or null if the body is empty. */
export const readText = async (body: ReceivedBody): Promise<string | null> => {
  if (body.bytes.length === 0) return null
  const codings = body.contentEncoding.toLowerCase().split(',')
  let { bytes } = body
  for (const coding of codings.reverse()) bytes = await decompress(bytes, coding.trim())
  const isCut = body.isCut || bytes.length > KEPT_BYTES
  return cutText(decodeText(bytes, body.contentType, isCut))
}
