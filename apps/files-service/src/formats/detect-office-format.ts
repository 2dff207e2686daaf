import { createReadStream, read } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { FILE_FORMATS } from '@leadwire/contracts'
import { XMLParser } from 'fast-xml-parser'
import { fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl'
import type { Detected } from './file-errors'
import { decodeMarked } from './read-text'

// A document has some dozen parts, a big workbook some hundred. A directory of more is not read.
const MOST_ENTRIES = 10_000
// The types of 1,700 parts, for which the parser needs 80 ms.
const MOST_CONTENT_TYPES = 256 * 1024

const FORMATS = ['docx', 'xlsx'] as const
const MAIN_NAME = { docx: 'word/document.xml', xlsx: 'xl/workbook.xml' }
const MACROS = 'application/vnd.ms-office.vbaProject'
const NO_MACROS = 'The file must not contain macros.'

/**
 * Which Office format the zip file is that starts at the byte `start`, none for any other zip, for one with macros, and for
 * one that can't be read. The types of the parts that are there decide: the main part may have any name (some Word versions
 * write word/document2.xml), and SheetJS declares a type with macros that no part has.
 *
 * Reads the central directory, so the order of the entries and data descriptors do not matter (file-type, which reads
 * the entries from the front, needs the sizes in their headers).
 */
export const detectOfficeFormat = async (
  path: string,
  file: FileHandle,
  start: number,
): Promise<Detected> => {
  try {
    const { names, contentTypes } = await readParts(await openArchive(path, file, start))
    const types = new Set(names.map(typeOfPart(contentTypes)))
    if (types.has(MACROS) || names.some((name) => name.endsWith('/vbaproject.bin')))
      return { why: { docx: NO_MACROS, xlsx: NO_MACROS } }
    const found = FORMATS.filter((format) =>
      contentTypes === '' ? names.includes(MAIN_NAME[format]) : types.has(mainType(format)),
    )
    return found.length === 1 ? { format: found[0] } : {}
  } catch {
    return {}
  }
}

// ECMA-376 part 1, 11.3.10 and 12.3.23; the strict variant has the same media types.
const mainType = (format: (typeof FORMATS)[number]) => `${FILE_FORMATS[format].contentType}.main+xml`

class ArchiveReader extends RandomAccessReader {
  constructor(
    private readonly path: string,
    private readonly fd: number,
    private readonly start: number,
  ) {
    super()
  }
  override _readStreamForRange(start: number, end: number) {
    return createReadStream(this.path, { start: this.start + start, end: this.start + end - 1 })
  }
  override read(...[buffer, offset, length, position, callback]: Parameters<RandomAccessReader['read']>) {
    read(this.fd, buffer, offset, length, this.start + position, callback)
  }
}

const END = 'PK\x05\x06'
const END_BYTES = 22
// Of a comment and of bytes behind the archive.
const MOST_TAIL_BYTES = 128 * 1024

/** Opens the archive without the bytes behind it, which yauzl refuses. */
const openArchive = async (path: string, file: FileHandle, start: number): Promise<ZipFile> => {
  const { size } = await file.stat()
  const from = Math.max(start, size - MOST_TAIL_BYTES)
  const { buffer: tail } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
  const at = tail.lastIndexOf(END, undefined, 'latin1')
  const end = from + at + END_BYTES + tail.readUInt16LE(at + END_BYTES - 2)
  const reader = new ArchiveReader(path, file.fd, start)
  return fromRandomAccessReaderPromise(reader, end - start, { autoClose: false })
}

/** The names of the parts in lower case, and the text of `[Content_Types].xml`; '' when it is missing. */
const readParts = async (zip: ZipFile): Promise<{ names: string[]; contentTypes: string }> => {
  const names: string[] = []
  let contentTypes = ''
  if (zip.entryCount > MOST_ENTRIES) return { names, contentTypes }
  for await (const entry of zip.eachEntry()) {
    const name = entry.fileName.toLowerCase()
    names.push(name)
    if (name === '[content_types].xml') contentTypes = await readText(await zip.openReadStreamPromise(entry))
  }
  return { names, contentTypes }
}

const readText = async (stream: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MOST_CONTENT_TYPES) break
  }
  return decodeMarked(Buffer.concat(chunks))
}

const XML = new XMLParser({ ignoreAttributes: false, attributeNamePrefix: '', removeNSPrefix: true })

type ContentType = { PartName?: string; Extension?: string; ContentType?: string }

/** The type of a part by its name, else by its extension (ECMA-376 part 2, 10.1.2.4). */
const typeOfPart = (contentTypes: string): ((name: string) => string | undefined) => {
  const { Types = {} } = XML.parse(contentTypes) as { Types?: Record<string, ContentType | ContentType[]> }
  const typesBy = (key: 'PartName' | 'Extension', entries: ContentType | ContentType[] = []) =>
    new Map([entries].flat().map((entry) => [entry[key]?.toLowerCase(), entry.ContentType]))
  const byName = typesBy('PartName', Types['Override'])
  const byExtension = typesBy('Extension', Types['Default'])
  return (name) => byName.get(`/${name}`) ?? byExtension.get(name.slice(name.lastIndexOf('.') + 1))
}
