import { decodeWindows1252, ServiceError, whenValid } from '@leadwire/service-kit'

const refusal = (message: string) => ServiceError.invalid({ file: [message] })

/** Kinds of binary files. Each kind has a mark: the first bytes of such a file. */
const BINARIES: [mark: Buffer, kind: string][] = [
  [Buffer.from('504b0304', 'hex'), 'zip archive, such as an Excel workbook'],
  [Buffer.from('d0cf11e0', 'hex'), 'workbook of Excel 97'],
]
const LONGEST_MARK = 4

/** The maximum length of an incomplete character in any encoding, in bytes. */
const INCOMPLETE = 3

const HINT =
  ' If the file has another encoding, name it in the Content-Type, such as text/csv; charset=windows-1252.'

interface Decoder {
  encoding: string
  /**
   * Returns the text of bytes. Returns undefined if a byte is invalid. Without `stream`, also returns
   * undefined if the last character is incomplete.
   */
  decode: (bytes: Buffer, stream?: boolean) => string | undefined
}

const createDecoder = (label: string): Decoder => {
  const { encoding } = new TextDecoder(label)
  // In Windows-1252 no byte is invalid, because each byte is a character.
  if (encoding === 'windows-1252') return { encoding, decode: decodeWindows1252 }
  return {
    encoding,
    decode: (bytes, stream = false) =>
      whenValid(() => new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes, { stream })),
  }
}

const MARKS: [mark: Buffer, label: string][] = [
  [Buffer.from('efbbbf', 'hex'), 'utf-8'],
  [Buffer.from('fffe', 'hex'), 'utf-16le'],
  [Buffer.from('feff', 'hex'), 'utf-16be'],
]

/**
 * Decodes the bytes before the first invalid or incomplete character. Searches for this character, because a
 * decoder does not report where decoding failed.
 */
const readValid = ({ decode }: Decoder, bytes: Buffer): { text: string; size: number } => {
  const all = decode(bytes)
  if (all !== undefined) return { text: all, size: bytes.length }
  let good = bytes.length
  if (decode(bytes, true) === undefined) {
    // A binary search finds the longest valid prefix.
    let bad = bytes.length
    good = 0
    while (bad - good > 1) {
      const middle = (good + bad) >> 1
      if (decode(bytes.subarray(0, middle), true) === undefined) bad = middle
      else good = middle
    }
  }
  for (let size = good; ; size -= 1) {
    const text = decode(bytes.subarray(0, size))
    if (text !== undefined) return { text, size }
  }
}

/**
 * Converts a text to UTF-8 as the text arrives, and removes its byte order mark. The mark decides the
 * encoding of the text. Without a mark, `charset` decides. Throws `invalid` with the line and column of the
 * first invalid byte.
 */
export async function* utf8Text(chunks: AsyncIterable<Buffer>, charset = 'utf-8'): AsyncGenerator<Buffer> {
  let [line, column] = [1, 1]
  let decoder: Decoder | undefined
  let rest: Buffer = Buffer.alloc(0)
  const begin = (): Decoder => {
    const startsWith = (mark: Buffer) => rest.subarray(0, mark.length).equals(mark)
    const binary = BINARIES.find(([mark]) => startsWith(mark))
    if (binary) throw refusal(`The file is a ${binary[1]}. Save it as CSV.`)
    const [mark, marked] = MARKS.find(([mark]) => startsWith(mark)) ?? []
    if (mark) rest = rest.subarray(mark.length)
    return createDecoder(marked ?? charset)
  }
  const read = (incomplete: number): Buffer => {
    decoder ??= begin()
    const { text, size } = readValid(decoder, rest)
    const lines = text.split('\n')
    column = [...lines.at(-1)!].length + (lines.length > 1 ? 1 : column)
    line += lines.length - 1
    rest = rest.subarray(size)
    if (rest.length <= incomplete) return Buffer.from(text)
    const byte = rest[0]!.toString(16).toUpperCase().padStart(2, '0')
    const name = decoder.encoding.toUpperCase()
    const hint = decoder.encoding === 'utf-8' ? HINT : ''
    throw refusal(`Line ${line}, column ${column}: the byte 0x${byte} is not ${name}.${hint}`)
  }
  for await (const chunk of chunks) {
    rest = Buffer.concat([rest, chunk])
    if (decoder || rest.length >= LONGEST_MARK) yield read(INCOMPLETE)
  }
  yield read(0)
}
