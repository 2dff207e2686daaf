import { ServiceError } from '@leadwire/service-kit'
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

const unicode = (label: string) => (bytes: Buffer) => {
  const decode = (size: number) => {
    try {
      const decoder = new TextDecoder(label, { fatal: true, ignoreBOM: true })
      return decoder.decode(bytes.subarray(0, size), { stream: true })
    } catch {
      return undefined
    }
  }
  const all = decode(bytes.length)
  if (all !== undefined) return all
  // A decoder does not say where it failed. A binary search finds the longest valid prefix.
  let [good, bad] = [0, bytes.length]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    if (decode(middle) === undefined) bad = middle
    else good = middle
  }
  return decode(good)!
}

const WINDOWS_1252: Encoding = {
  name: 'Windows-1252',
  read: windows1252Text,
  sizeOf: (text) => text.length,
}
const UTF_8 = {
  name: 'UTF-8',
  mark: Buffer.from([0xef, 0xbb, 0xbf]),
  read: unicode('utf-8'),
  sizeOf: Buffer.byteLength,
}
const UTF_16 = { name: 'UTF-16', sizeOf: (text: string) => 2 * text.length }
const MARKED = [
  UTF_8,
  { ...UTF_16, mark: Buffer.from([0xff, 0xfe]), read: unicode('utf-16le') },
  { ...UTF_16, mark: Buffer.from([0xfe, 0xff]), read: unicode('utf-16be') },
]

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
