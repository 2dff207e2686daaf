import { createReadStream } from 'node:fs'

const MARKS: Record<string, string> = { '\xff\xfe': 'utf-16le', '\xfe\xff': 'utf-16be' }

// Tab, line ends and form feed belong in a text, and DOS ends one with Ctrl-Z.
const CONTROL = /[^\P{Cc}\t\n\f\r\cZ\x80-\x9f]|\cZ[^\cZ]/u

// Windows-1252 has no characters for these.
const UNASSIGNED = /[\x81\x8d\x8f\x90\x9d]/

const markOf = (start: Buffer): string | undefined => MARKS[start.toString('latin1', 0, 2)]

/** Text in the encoding that its byte order mark says, UTF-8 without one. */
export const decodeMarked = (bytes: Buffer): string => new TextDecoder(markOf(bytes)).decode(bytes)

/**
 * Reads a file, of which `start` are the first bytes, as a text. Keeps none of it. `control` is the first control character that
 * belongs in no text; without a `charset` none is certain.
 */
export const readText = async (
  path: string,
  start: Buffer,
): Promise<{ charset?: 'utf-8' | 'utf-16' | 'windows-1252'; control?: string }> => {
  const utf16 = markOf(start)
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
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    const decoded = decode(chunk)
    const text = end + (utf16 ? decoded : chunk.toString('latin1'))
    const control = CONTROL.exec(text)?.[0].charAt(0)
    if (control !== undefined) return { control }
    windows1252 &&= !UNASSIGNED.test(text)
    end = text.endsWith('\x1a') ? '\x1a' : ''
  }
  decode()
  if (wellFormed) return { charset: utf16 ? 'utf-16' : 'utf-8' }
  return windows1252 ? { charset: 'windows-1252' } : {}
}
