import { createReadStream } from 'node:fs'

const MARKS: Record<string, string> = { '\xff\xfe': 'utf-16le', '\xfe\xff': 'utf-16be' }

// Matches a control character that does not belong in a text. Tab, line ends and form feed are allowed. The
// range 0x80 to 0x9F is allowed, because this range has characters in Windows-1252. Ctrl-Z is allowed only at
// the end of the text, where DOS programs write it.
const CONTROL = /[^\P{Cc}\t\n\f\r\cZ\x80-\x9f]|\cZ[^\cZ]/u

// The bytes that have no character in Windows-1252.
const UNASSIGNED = /[\x81\x8d\x8f\x90\x9d]/

const readMark = (start: Buffer): string | undefined => MARKS[start.toString('latin1', 0, 2)]

/** Decodes a text by its byte order mark. A text without a byte order mark is decoded as UTF-8. */
export const decodeMarked = (bytes: Buffer): string => new TextDecoder(readMark(bytes)).decode(bytes)

/**
 * Reads a file to detect the charset of its text, without keeping the text in memory. `start` contains at
 * least the first two bytes of the file. Returns no `charset` if no charset fits. If the file contains a
 * control character that does not belong in a text, returns the first such character as `control`. Throws if
 * `signal` aborts.
 */
export const readText = async (
  path: string,
  start: Buffer,
  signal: AbortSignal,
): Promise<{ charset?: 'utf-8' | 'utf-16' | 'windows-1252'; control?: string }> => {
  const utf16 = readMark(start)
  const decoder = new TextDecoder(utf16, { fatal: true })
  let wellFormed = true
  const decode = (bytes?: Buffer): string => {
    try {
      return wellFormed ? decoder.decode(bytes, { stream: bytes !== undefined }) : ''
    } catch {
      wellFormed = false
      return ''
    }
  }
  let windows1252 = utf16 === undefined
  let end = ''
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    const decoded = decode(chunk)
    const text = end + (utf16 ? decoded : chunk.toString('latin1'))
    const control = CONTROL.exec(text)?.[0].charAt(0)
    if (control !== undefined) return { control }
    if (UNASSIGNED.test(text)) windows1252 = false
    end = text.endsWith('\x1a') ? '\x1a' : ''
  }
  decode()
  if (wellFormed) return { charset: utf16 ? 'utf-16' : 'utf-8' }
  return windows1252 ? { charset: 'windows-1252' } : {}
}
