import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeZip } from './zip.fixture'

export const typesWith = (entries: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/>${entries}</Types>`

const types = (mainPart: string, partName: string) =>
  typesWith(`<Override PartName="${partName}" ContentType="${mainPart}"/>`)

export const DOCX_MAIN = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml'
export const XLSX_MAIN = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml'

export const docxParts = {
  '[Content_Types].xml': types(DOCX_MAIN, '/word/document.xml'),
  '_rels/.rels': '<Relationships/>',
  'word/document.xml': '<w:document/>',
}

export const xlsxParts = {
  '[Content_Types].xml': types(XLSX_MAIN, '/xl/workbook.xml'),
  '_rels/.rels': '<Relationships/>',
  'xl/workbook.xml': '<workbook/>',
}

const withTypes = (parts: Record<string, string>, change: (contentTypes: string) => string | Buffer) =>
  makeZip({ ...parts, '[Content_Types].xml': change(parts['[Content_Types].xml']!) })

const defaults = (extension: string, type: string) => (contentTypes: string) =>
  contentTypes.replace('<Override', `<Default Extension="${extension}" ContentType="${type}"/><Override`)

const reversed = (parts: Record<string, string>) => Object.fromEntries(Object.entries(parts).reverse())

/** One small valid file of each format. */
export const SAMPLES: Record<string, Buffer> = {
  jpeg: Buffer.from('ffd8ffe000104a46494600010100000100010000ffd9', 'hex'),
  png: Buffer.from(
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
    'base64',
  ),
  gif: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  svg: Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><rect width="1" height="1"/></svg>'),
  pdf: Buffer.from('%PDF-1.4\n%âãÏÓ\n1 0 obj<<>>endobj\ntrailer<<>>\n%%EOF\n', 'latin1'),
  txt: Buffer.from('Meter: under the stairs.\nAccès par la cour.\n'),
  xlsx: makeZip(xlsxParts),
  docx: makeZip(docxParts),
}

const svg = (prolog: string, root = '<svg xmlns="http://www.w3.org/2000/svg"/>') => Buffer.from(prolog + root)

const SHEET_WITH_MACROS = 'application/vnd.ms-excel.sheet.macroEnabled.12'
const utf16 = (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le')
const WINDOWS_1252 = 'text/plain; charset=windows-1252'
const UTF_16 = 'text/plain; charset=utf-16'
const bigEndian = (text: string) => utf16(text).swap16()

/** Unusual files that Office opens. */
const OFFICE: typeof VALID = [
  [
    'an xlsx that declares a default for macros and has none',
    'a.xlsx',
    withTypes(xlsxParts, defaults('bin', 'application/vnd.ms-excel.sheet.binary.macroEnabled.main')),
  ],
  [
    'a docx that embeds a workbook with macros',
    'a.docx',
    makeZip({
      ...docxParts,
      '[Content_Types].xml': defaults('xlsm', SHEET_WITH_MACROS)(docxParts['[Content_Types].xml']),
      'word/embeddings/a.xlsm': SAMPLES['xlsx']!,
    }),
  ],
  [
    'single-quoted attributes',
    'a.docx',
    withTypes(docxParts, (contentTypes) => contentTypes.replaceAll('"', "'")),
  ],
  [
    'a namespace prefix',
    'a.docx',
    withTypes(docxParts, (contentTypes) => contentTypes.replace(/<(\/?)(?=\w)/g, '<$1x:')),
  ],
  ['a line break before the XML', 'a.xlsx', withTypes(xlsxParts, (contentTypes) => `\n${contentTypes}`)],
  ['content types in UTF-16', 'a.xlsx', withTypes(xlsxParts, utf16)],
  [
    'the type of the main part by its extension',
    'a.docx',
    makeZip({
      '[Content_Types].xml': typesWith('').replace('application/xml', DOCX_MAIN),
      'word/document.xml': '<w:document/>',
    }),
  ],
  [
    'names in other letters',
    'a.xlsx',
    makeZip({ '[content_types].xml': xlsxParts['[Content_Types].xml'], 'XL/Workbook.xml': '<workbook/>' }),
  ],
  ['a line break before the archive', 'a.xlsx', Buffer.concat([Buffer.from('\r\n'), SAMPLES['xlsx']!])],
  [
    'a byte order mark and a line break before the archive',
    'a.docx',
    Buffer.concat([Buffer.from('\uFEFF\n'), SAMPLES['docx']!]),
  ],
  ['a line break behind the archive', 'a.docx', Buffer.concat([SAMPLES['docx']!, Buffer.from('\r\n')])],
  [
    'a page behind the archive',
    'a.xlsx',
    Buffer.concat([SAMPLES['xlsx']!, Buffer.from(`<!doctype html>${'<p>hello'.repeat(2000)}`)]),
  ],
]

/**
 * PDF files with other bytes before the header. Adobe's readers accept up to 1,024 such bytes (PDF 1.7
 * reference, appendix H, note 13).
 */
const PDFS: typeof VALID = Object.entries({
  'line breaks': '\r\n\n',
  'a byte order mark': '\xef\xbb\xbf',
  PJL: '\x1b%-12345X@PJL JOB\r\n@PJL ENTER LANGUAGE=PDF\r\n',
  'a header of HTTP': 'Content-Type: application/pdf\r\n\r\n',
  '1,024 bytes': '\0'.repeat(1024),
}).map(([what, bytes]) => [
  `a pdf behind ${what}`,
  'a.pdf',
  Buffer.concat([Buffer.from(bytes, 'latin1'), SAMPLES['pdf']!, Buffer.from('stream\0')]),
])

const WRITTEN = join(__dirname, 'written-files')

/** Files of real programs. The README in their folder says how each was made. */
export const WRITTEN_FILES = readdirSync(WRITTEN)
  .filter((name) => !name.endsWith('.md'))
  .map((name) => [name, readFileSync(join(WRITTEN, name))] as const)

/** Texts in each encoding, with the expected content type. */
export const TEXTS: [what: string, bytes: Buffer, type: string][] = [
  ['ASCII', Buffer.from('hello'), 'text/plain'],
  ['UTF-8', Buffer.from('£5'), 'text/plain'],
  ['UTF-8 with a byte order mark', Buffer.from('\uFEFF£5'), 'text/plain'],
  ['UTF-8 that ends with Ctrl-Z, as in DOS', Buffer.from('£5\r\n\x1a\x1a'), 'text/plain'],
  ['UTF-8 that speaks of a PDF', Buffer.from('It starts with\n%PDF-1.7\n'), 'text/plain'],
  ['Windows-1252', Buffer.from('\xa35 \x96 \x93caf\xe9\x94', 'latin1'), WINDOWS_1252],
  ['Windows-1252 that ends with Ctrl-Z', Buffer.from('\xa35\r\n\x1a', 'latin1'), WINDOWS_1252],
  ['Windows-1252 that begins like a mark', Buffer.from('\xff', 'latin1'), WINDOWS_1252],
  ['Windows-1252 from UTF-8 cut inside a letter', Buffer.from('abcé').subarray(0, 4), WINDOWS_1252],
  ['UTF-16', utf16('£5\r\n🏠'), UTF_16],
  ['UTF-16, big-endian', bigEndian('£5\r\n🏠'), UTF_16],
  ['UTF-16 that ends with Ctrl-Z', utf16('£5\r\n\x1a'), UTF_16],
  ['UTF-16 of nothing', utf16(''), UTF_16],
]

/** Valid files that are easily mistaken for invalid ones. */
export const VALID: [what: string, name: string, bytes: Buffer][] = [
  ['a jpeg called .jpeg', 'a.jpeg', SAMPLES['jpeg']!],
  ...['jpe', 'jfif', 'JFIF', 'jif', 'pjpeg', 'pjp'].map((extension): [string, string, Buffer] => [
    `a jpeg called .${extension}`,
    `IMG_0001.${extension}`,
    SAMPLES['jpeg']!,
  ]),
  ['an extension in capitals', 'PHOTO.JPG', SAMPLES['jpeg']!],
  ['several dots in a name', 'plan.v2.final.pdf', SAMPLES['pdf']!],
  ['a gif by its signature alone', 'a.gif', Buffer.from('GIF89a<script>alert(1)</script>')],
  ['the older gif', 'a.gif', Buffer.from('GIF87a')],
  ['text with a byte order mark', 'a.txt', Buffer.from('\uFEFFhello')],
  ['text with tabs, line ends and a form feed', 'a.txt', Buffer.from('a\tb\r\n\fc\n')],
  ['one letter', 'a.txt', Buffer.from('x')],
  ['an HTML page as text', 'a.txt', Buffer.from('<!doctype html><p>hello')],
  [
    'an svg after everything XML allows',
    'a.svg',
    svg(
      '\uFEFF<?xml version="1.0"?>\n<!-- <html> -->\n<?x y?><!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "a>b" [<!ENTITY a "]>"> <!-- ]> -->]>\n',
    ),
  ],
  ['an svg with a prefix', 'a.svg', svg('', '<svg:svg xmlns:svg="http://www.w3.org/2000/svg"/>')],
  ['an svg after a long comment', 'a.svg', svg(`<!--${'x'.repeat(100_000)}-->`)],
  [
    'an svg in Latin-1',
    'a.svg',
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><svg><!-- é --></svg>', 'latin1'),
  ],
  ['an svg in UTF-16', 'a.svg', utf16('<?xml version="1.0" encoding="UTF-16"?><svg/>')],
  ['an svg in UTF-16, big-endian', 'a.svg', bigEndian('<svg><!-- é --></svg>')],
  ['an svg that ends with Ctrl-Z', 'a.svg', Buffer.from('<svg/>\r\n\x1a')],
  ['a docx with data descriptors', 'a.docx', makeZip(docxParts, { descriptors: true })],
  ['an xlsx with data descriptors', 'a.xlsx', makeZip(xlsxParts, { descriptors: true })],
  ['a docx whose content types come last', 'a.docx', makeZip(reversed(docxParts))],
  ['an xlsx whose content types come last', 'a.xlsx', makeZip(reversed(xlsxParts))],
  [
    'a docx whose main part has another name',
    'a.docx',
    makeZip({
      '[Content_Types].xml': types(DOCX_MAIN, '/word/document2.xml'),
      'word/document2.xml': '<w:document/>',
    }),
  ],
  ['a docx without content types', 'a.docx', makeZip({ 'word/document.xml': '' })],
  [
    'a docx with a workbook inside',
    'a.docx',
    makeZip({ ...docxParts, 'word/embeddings/a.xlsx': SAMPLES['xlsx']! }),
  ],
  ...OFFICE,
  ...PDFS,
]

const ENCODINGS = 'Save it as UTF-8, Windows-1252, or UTF-16 with a byte order mark.'
const control = (code: string) =>
  `The file contains the control character ${code}, so it is not a text. ${ENCODINGS}`
const NOT_TEXT = `The file is not a well-formed text. ${ENCODINGS}`
const MACROS = 'The file must not contain macros. Save it without them, as .docx or .xlsx.'

/** Invalid files with the expected error. If no error is given, the error must list the accepted formats. */
export const INVALID: [what: string, name: string, bytes: Buffer, why?: string][] = [
  ['an HTML page as svg', 'a.svg', Buffer.from('<!doctype html><html><svg></svg></html>\0'), control('0x00')],
  ['text with a NUL', 'a.txt', Buffer.from('a\0b'), control('0x00')],
  ['text with an escape', 'a.txt', Buffer.from('a\x1b[31mb'), control('0x1B')],
  ['text with a delete', 'a.txt', Buffer.from('a\x7fb'), control('0x7F')],
  ['text that continues after Ctrl-Z', 'a.TXT', Buffer.from('a\x1ab'), control('0x1A')],
  ['text in no encoding', 'a.txt', Buffer.from('\x81\xe9', 'latin1'), NOT_TEXT],
  ['text in UTF-16 without a mark', 'a.txt', Buffer.from('hello', 'utf16le'), control('0x00')],
  ['text in UTF-16 with an escape', 'a.txt', utf16('a\x1bb'), control('0x1B')],
  ['text in UTF-16 with half a character', 'a.txt', utf16('\ud800b'), NOT_TEXT],
  ['text in UTF-16 with half a code unit', 'a.txt', Buffer.concat([utf16('a'), Buffer.from('b')]), NOT_TEXT],
  ['a program', 'a.pdf', Buffer.from('\x7fELF\x02\x01\x01', 'latin1')],
  ['a pdf behind 1,025 bytes', 'a.pdf', Buffer.concat([Buffer.alloc(1025), SAMPLES['pdf']!])],
  ['a zip of something else', 'a.docx', makeZip({ 'a.txt': 'a' })],
  ['a zip that is both', 'a.docx', makeZip({ 'word/document.xml': '', 'xl/workbook.xml': '' })],
  [
    'a presentation',
    'a.docx',
    makeZip({
      '[Content_Types].xml': types(
        'application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml',
        '/ppt/presentation.xml',
      ),
      'ppt/presentation.xml': '',
    }),
  ],
  [
    'a zip that says it is a docx and has no document',
    'a.docx',
    makeZip({ '[Content_Types].xml': docxParts['[Content_Types].xml'], 'a.xml': '<a/>' }),
  ],
  [
    'a docm by its content types',
    'a.docx',
    withTypes(docxParts, (contentTypes) =>
      contentTypes.replace(DOCX_MAIN, 'application/vnd.ms-word.document.macroEnabled.main+xml'),
    ),
  ],
  ['an xlsm by its macros', 'a.xlsx', makeZip({ ...xlsxParts, 'xl/vbaProject.bin': 'x' }), MACROS],
  [
    'an xlsm by the type of its macros',
    'a.xlsx',
    makeZip({
      ...xlsxParts,
      '[Content_Types].xml': defaults(
        'bin',
        'application/vnd.ms-office.vbaProject',
      )(xlsxParts['[Content_Types].xml']),
      'xl/innocent.bin': 'x',
    }),
    MACROS,
  ],
  [
    'a docx with a password',
    'a.docx',
    Buffer.from('d0cf11e0a1b11ae1', 'hex'),
    'The file is encrypted or in an old Office format. Save it as .docx or .xlsx, without a password.',
  ],
  ['a zip cut in the middle', 'a.docx', SAMPLES['docx']!.subarray(0, 200)],
  ['content types that are not XML', 'a.docx', withTypes(docxParts, () => '<Types><Override/></Types>')],
  [
    'a directory of too many entries',
    'a.docx',
    makeZip({
      ...docxParts,
      ...Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`word/${index}`, ''])),
    }),
    'The file has too many parts: more than 10,000, or its zip directory is larger than 1 MiB. Split the file into smaller files.',
  ],
]
