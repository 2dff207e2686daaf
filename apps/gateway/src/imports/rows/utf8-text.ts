import { ServiceError, whenValid } from '@leadwire/service-kit'
import { windows1252Text } from '../../http/utf8'

const refusal = (message: string) => ServiceError.invalid({ file: [message] })

const ZIP = Buffer.from('PK\x03\x04', 'latin1')

/** The longest incomplete character, in bytes of UTF-8 or UTF-16. */
const INCOMPLETE = 3

const HINT = ' If the file is in Windows-1252, name it: Content-Type: text/csv; charset=windows-1252.'

interface Encoding {
  name: string
  /** The text of bytes up to the first invalid or incomplete character. */
  read: (bytes: Buffer) => string
  /** The size of the text in bytes of the encoding. */
  sizeOf: (text: string) => number
}

const unicode = (name: string, label: string, mark: number[], sizeOf: Encoding['sizeOf']) => {
  const decode = (bytes: Buffer) =>
    whenValid(() => new TextDecoder(label, { fatal: true, ignoreBOM: true }).decode(bytes, { stream: true }))
  const read = (bytes: Buffer): string => {
    const all = decode(bytes)
    if (all !== undefined) return all
    // A decoder does not say where it failed. A binary search finds the longest valid prefix.
    let [good, bad] = [0, bytes.length]
    while (bad - good > 1) {
      const middle = (good + bad) >> 1
      if (decode(bytes.subarray(0, middle)) === undefined) bad = middle
      else good = middle
    }
    return decode(bytes.subarray(0, good))!
  }
  return { name, mark: Buffer.from(mark), read, sizeOf }
}

const twice = (text: string) => 2 * text.length

const UTF_8 = unicode('UTF-8', 'utf-8', [0xef, 0xbb, 0xbf], Buffer.byteLength)
const MARKED = [
  UTF_8,
  unicode('UTF-16', 'utf-16le', [0xff, 0xfe], twice),
  unicode('UTF-16', 'utf-16be', [0xfe, 0xff], twice),
]
const WINDOWS_1252: Encoding = { name: 'Windows-1252', read: windows1252Text, sizeOf: (text) => text.length }

/**
 * Converts a text to UTF-8 without a byte order mark, as it arrives. It is UTF-16 if it has the mark of UTF-16, else Windows-1252 if the
 * charset says so, else UTF-8. Throws invalid with the line and column of the first invalid byte.
 */
export async function* utf8Text(
  chunks: AsyncIterable<Buffer>,
  charset: string | undefined,
): AsyncGenerator<Buffer> {
  let [line, column] = [1, 1]
  let encoding: Encoding | undefined
  let rest: Buffer = Buffer.alloc(0)
  const begin = (): Encoding => {
    if (rest.subarray(0, ZIP.length).equals(ZIP))
      throw refusal('The file is a zip archive, such as a workbook of Excel. Save it as CSV.')
    const marked = MARKED.find(({ mark }) => rest.subarray(0, mark.length).equals(mark))
    if (marked) rest = rest.subarray(marked.mark.length)
    return marked ?? (charset === 'windows-1252' ? WINDOWS_1252 : UTF_8)
  }
  const read = (incomplete: number): Buffer => {
    encoding ??= begin()
    const text = encoding.read(rest)
    const lines = text.split('\n')
    column = [...lines.at(-1)!].length + (lines.length > 1 ? 1 : column)
    line += lines.length - 1
    rest = rest.subarray(encoding.sizeOf(text))
    if (rest.length <= incomplete) return Buffer.from(text)
    const byte = rest[0]!.toString(16).toUpperCase().padStart(2, '0')
    const hint = encoding === UTF_8 ? HINT : ''
    throw refusal(`Line ${line}, column ${column}: the byte 0x${byte} is not ${encoding.name}.${hint}`)
  }
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    if (encoding || rest.length >= ZIP.length) yield read(INCOMPLETE)
  }
  yield read(0)
}
