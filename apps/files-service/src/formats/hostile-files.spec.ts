import { type FileHandle, open } from 'node:fs/promises'
import { deflateRawSync } from 'node:zlib'
import {
  type FilesServerInFolder,
  listErrors,
  MEBIBYTE,
  startFilesServerInFolder,
} from '../files/files-server.fixture'
import { DOCX_MAIN, docxParts, SAMPLES, typesWith } from './samples.fixture'
import { makeZipOfEntries, type ZipEntry } from './zip.fixture'

let server: FilesServerInFolder

beforeAll(async () => {
  server = await startFilesServerInFolder()
})

afterAll(async () => {
  await server.stop()
  await server.removeFolder()
})

const upload = (name: string, bytes: Buffer) =>
  listErrors(server.upload({ name, chunks: [bytes], sha256: false }))

/** Counts how often files are read. Sees the server's reads, because the server runs in this process. */
const watchReads = async (): Promise<jest.SpiedFunction<FileHandle['read']>> => {
  const file = await open(__filename)
  const reads = jest.spyOn(Object.getPrototypeOf(file) as FileHandle, 'read')
  await file.close()
  return reads
}

const TAKEN: string[] = []
const REFUSED = ['The file must be a file of type: jpeg, png, gif, svg, pdf, txt, xlsx, docx.']
const TOO_LARGE = [
  'The file has too many parts: more than 10,000, or its zip directory is larger than 1 MiB. Split the file into smaller files.',
]
const REPEATED = ['The file contains two parts with the same name. Open the file and save it again.']
const MACROS = ['The file must not contain macros. Save it without them, as .docx or .xlsx.']

const CONTENT_TYPES = '[Content_Types].xml'
const DOCUMENT: ZipEntry = { name: 'word/document.xml', content: '<w:document/>' }
const renderType = (part: string) => `<Override PartName="/word/${part}" ContentType="${DOCX_MAIN}"/>`
const MAIN_TYPE = renderType('document.xml')
const TYPES: ZipEntry = { name: CONTENT_TYPES, content: docxParts[CONTENT_TYPES] }

/**
 * Makes a docx. If `types` is a text, `types` is the content of [Content_Types].xml. If `types` is an object,
 * its properties replace those of the zip entry of [Content_Types].xml.
 */
const docxWith = (types: string | Partial<ZipEntry>, ...others: ZipEntry[]) => {
  const changes = typeof types === 'string' ? { content: types } : types
  return makeZipOfEntries([{ ...TYPES, ...changes }, DOCUMENT, ...others])
}

const makeParts = (
  count: number,
  renderName: (index: number) => string,
  directory: ZipEntry['directory'] = {},
) =>
  Array.from({ length: count }, (_, index): ZipEntry => {
    const name = renderName(index)
    return { name, content: '', packed: EMPTY, directory }
  })

const EMPTY = deflateRawSync('')
const EMPTY_BLOCK = Buffer.from([0, 0, 0, 0xff, 0xff])

/**
 * Makes 6,500 extra fields, each with a Unicode name that does not belong to the name of the entry. A reader
 * that decodes names computes the checksum of the entry's name again for each of these fields.
 */
const unicodeNames = () => {
  const field = Buffer.alloc(10)
  field.writeUInt16LE(0x7075, 0)
  field.writeUInt16LE(6, 2)
  field.writeUInt8(1, 4)
  return Buffer.alloc(65_000, field)
}

/**
 * Adds a zip64 end record to an archive. `entries` and `at` are false values for the number of entries and
 * for the position of the record.
 */
const addZip64End = (zip: Buffer, { entries, at }: { entries?: bigint; at?: bigint } = {}) => {
  const end = Buffer.from(zip.subarray(-22))
  const record = Buffer.alloc(56)
  record.writeUInt32LE(0x06064b50, 0)
  record.writeBigUInt64LE(44n, 4)
  record.writeBigUInt64LE(entries ?? BigInt(end.readUInt16LE(10)), 24)
  record.writeBigUInt64LE(entries ?? BigInt(end.readUInt16LE(10)), 32)
  record.writeBigUInt64LE(BigInt(end.readUInt32LE(12)), 40)
  record.writeBigUInt64LE(BigInt(end.readUInt32LE(16)), 48)
  const locator = Buffer.alloc(20)
  locator.writeUInt32LE(0x07064b50, 0)
  locator.writeBigUInt64LE(at ?? BigInt(zip.length - end.length), 8)
  locator.writeUInt32LE(1, 16)
  end.fill(0xff, 8, 20)
  return Buffer.concat([zip.subarray(0, -22), record, locator, end])
}

type Hostile = [what: string, make: () => Buffer, errors: string[]]

const ARCHIVES: Hostile[] = [
  [
    '9,999 entries of the directory for one part, which inflates to 260 KB',
    () => makeZipOfEntries([{ ...TYPES, content: typesWith('<a/>'.repeat(65_000)), listed: 9999 }]),
    REPEATED,
  ],
  ['two parts of the same name', () => docxWith({}, DOCUMENT), REPEATED],
  [
    'a name that is repeated in upper case',
    () => docxWith({}, { ...DOCUMENT, name: 'WORD/Document.XML' }),
    REPEATED,
  ],
  [
    'a name that is repeated with a backslash',
    () => docxWith({}, { ...DOCUMENT, name: 'word\\document.xml' }),
    REPEATED,
  ],
  ['9,998 parts', () => docxWith({}, ...makeParts(9996, (index) => `word/${index}`)), TAKEN],
  ['10,001 parts', () => docxWith({}, ...makeParts(9999, (index) => `word/${index}`)), TOO_LARGE],
  [
    'comments of 64 KiB',
    () => docxWith({}, ...makeParts(17, String, { comment: Buffer.alloc(65_000, 0xe9) })),
    TOO_LARGE,
  ],
  [
    'names of 64 KiB with 6,500 extra fields that repeat them',
    () =>
      docxWith({}, ...makeParts(20, (index) => `${index}`.padEnd(65_000, 'x'), { extra: unicodeNames() })),
    TOO_LARGE,
  ],
  [
    'fewer of these names',
    () => docxWith({}, ...makeParts(8, (index) => `${index}`.padEnd(65_000, 'x'), { extra: unicodeNames() })),
    TAKEN,
  ],
  ['a zip64 end record', () => addZip64End(SAMPLES['docx']!), TAKEN],
  [
    'a zip64 end record with 2^53 entries',
    () => addZip64End(SAMPLES['docx']!, { entries: 2n ** 53n }),
    TOO_LARGE,
  ],
  [
    'a zip64 end record with a wrong position',
    () => addZip64End(SAMPLES['docx']!, { at: 2n ** 60n }),
    REFUSED,
  ],
  [
    'a comment of 64 KiB',
    () => makeZipOfEntries([TYPES, DOCUMENT], { comment: Buffer.alloc(65_535, ' ') }),
    TAKEN,
  ],
  [
    'a comment full of end records',
    () => makeZipOfEntries([TYPES, DOCUMENT], { comment: Buffer.alloc(65_535, 'PK\x05\x06') }),
    REFUSED,
  ],
  ['a part with a declared size that is too small', () => docxWith({ directory: { size: 10 } }), REFUSED],
  ['a part with a declared size that is too large', () => docxWith({ directory: { size: 10_000 } }), REFUSED],
  ['a part with a declared size of 4 GiB', () => docxWith({ directory: { size: 0xffff_fffe } }), REFUSED],
  ['a part with a declared end behind the file', () => docxWith({ directory: { packed: 100_000 } }), REFUSED],
  [
    'a part with a declared start behind the file',
    () => docxWith({ directory: { offset: 0xffff_fffe } }),
    REFUSED,
  ],
  [
    'parts in the same place',
    () => makeZipOfEntries([TYPES, { ...DOCUMENT, directory: { offset: 0 } }]),
    TAKEN,
  ],
  ['a docx inside a zip', () => makeZipOfEntries([{ name: 'a.docx', content: SAMPLES['docx']! }]), REFUSED],
  [
    'content types behind 1 MiB of empty blocks',
    () => {
      const packed = Buffer.concat([
        Buffer.alloc(MEBIBYTE, EMPTY_BLOCK),
        deflateRawSync(docxParts[CONTENT_TYPES]),
      ])
      return docxWith({ packed })
    },
    REFUSED,
  ],
]

const LONG_TYPES: Hostile[] = [
  [
    '65,000 empty elements in less than 1 KB',
    () => docxWith(typesWith(MAIN_TYPE + '<a/>'.repeat(65_000))),
    TAKEN,
  ],
  ['10 MB of empty elements', () => docxWith(typesWith(MAIN_TYPE + '<a/>'.repeat(2_500_000))), TAKEN],
  [
    'the type of the main part behind 80 KB',
    () => docxWith(typesWith('<a/>'.repeat(20_000) + MAIN_TYPE)),
    TAKEN,
  ],
  [
    'the type of a main part of another name behind 80 KB',
    () =>
      makeZipOfEntries([
        { ...TYPES, content: typesWith('<a/>'.repeat(20_000) + renderType('document2.xml')) },
        { ...DOCUMENT, name: 'word/document2.xml' },
      ]),
    REFUSED,
  ],
  [
    'the type of a main part with macros, and 80 KB behind it',
    () =>
      docxWith(typesWith(MAIN_TYPE.replace(DOCX_MAIN, 'x.macroEnabled.main+xml') + '<a/>'.repeat(20_000))),
    REFUSED,
  ],
  [
    'macros, and their type behind 80 KB',
    () =>
      docxWith(typesWith('<a/>'.repeat(20_000) + MAIN_TYPE), { name: 'word/vbaProject.bin', content: 'x' }),
    MACROS,
  ],
  ['deep elements', () => docxWith(typesWith(MAIN_TYPE + '<a>'.repeat(85_000))), TAKEN],
  ['end tags without start tags', () => docxWith(typesWith('</a>'.repeat(65_000) + MAIN_TYPE)), REFUSED],
  [
    'an element of 25,000 attributes',
    () => {
      const attributes = Array.from({ length: 25_000 }, (_, index) => `a${index}=""`)
      return docxWith(typesWith(`${MAIN_TYPE}<a ${attributes.join(' ')}/>`))
    },
    TAKEN,
  ],
  ['250,000 brackets', () => docxWith(typesWith('<'.repeat(250_000) + MAIN_TYPE)), REFUSED],
  ['60,000 comments that do not end', () => docxWith(typesWith('<!--'.repeat(60_000) + MAIN_TYPE)), REFUSED],
  ['50,000 references', () => docxWith(typesWith(MAIN_TYPE + '&amp;'.repeat(50_000))), TAKEN],
  [
    'entities of entities',
    () => {
      const entities = Array.from(
        { length: 30 },
        (_, index) => `<!ENTITY a${index + 1} "&a${index};&a${index};">`,
      )
      const root = typesWith(MAIN_TYPE.replace(DOCX_MAIN, '&a30;')).replace(/^<\?.*?\?>/, '')
      return docxWith(`<!DOCTYPE Types [<!ENTITY a0 "a">${entities.join('')}]>${root}`)
    },
    REFUSED,
  ],
]

const filled = (before: string, unit: string | Buffer, after = '') =>
  Buffer.concat([Buffer.from(before), Buffer.alloc(MEBIBYTE, unit), Buffer.from(after)])

const isText = ['The file extension .svg does not match its content (txt). Use the extension .txt.']

const SVGS: Hostile[] = [
  ['10 MiB of brackets', () => Buffer.alloc(10 * MEBIBYTE, '<'), isText],
  ...['<?', '<??>', '<!--', '<!---->', ' <??>', ' ', '<svg:', '<!DOCTYPE svg>', '<!DOCTYPE'].map(
    (unit): Hostile => [`1 MiB of ${unit}`, () => filled('', unit), isText],
  ),
  ...['<', '>', '[', '[]', '"', '""', `"'`, '<!--', '<!---->', '<!ENTITY a "&a;">', ' ', 'a'].map(
    (unit): Hostile => [
      `1 MiB of ${unit} in a document type`,
      () => filled('<!DOCTYPE svg [', unit, ']><svg/>'),
      isText,
    ],
  ),
  ['a name of 1 MiB', () => filled('<', 'a'), isText],
  ['a name of a document type of 1 MiB', () => filled('<!DOCTYPE ', 'svg'), isText],
  ['a comment of 1 MiB before svg', () => filled('<!--', ' ', '--><svg/>'), isText],
  ['deep elements', () => filled('<svg>', '<g>'), TAKEN],
  ['many attributes', () => filled('<svg ', 'a="b" '), TAKEN],
  ['many references', () => filled('<!DOCTYPE svg [<!ENTITY a "&a;">]><svg>', '&a;'), TAKEN],
]

const TEXTS: Hostile[] = [
  ['1 MiB of Ctrl-Z, which ends a DOS text', () => filled('', '\x1a'), TAKEN],
  ['1 MiB that is not UTF-8 anywhere', () => filled('', Buffer.from([0xe9, 0x61])), TAKEN],
  ['1 MiB of UTF-16 marks', () => filled('', Buffer.from([0xff, 0xfe])), TAKEN],
  ['1 MiB of signatures', () => filled('a', '%PDF-PK'), TAKEN],
]

describe('a file that is built to be slow is checked with a few reads', () => {
  test.each([
    ...ARCHIVES.map((file) => ['a.docx', ...file] as const),
    ...LONG_TYPES.map((file) => ['a.docx', ...file] as const),
    ...SVGS.map((file) => ['a.svg', ...file] as const),
    ...TEXTS.map((file) => ['a.txt', ...file] as const),
  ])('%s: %s', async (name, _what, make, errors) => {
    const bytes = make()
    const reads = await watchReads()
    expect(await upload(name, bytes)).toEqual(errors)
    // Fewer than 100 reads show that the server does not open every entry. Opening each of 9,999 entries
    // would take 20,000 reads.
    expect(reads.mock.calls.length).toBeLessThan(100)
    reads.mockRestore()
  })
})
