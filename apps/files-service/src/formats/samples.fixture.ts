import { zipOf } from './zip.fixture'

const types = (mainPart: string, partName: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="${partName}" ContentType="${mainPart}"/></Types>`

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

const reversed = (parts: Record<string, string>) => Object.fromEntries(Object.entries(parts).reverse())

/** One small sound file of each format. */
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
  xlsx: zipOf(xlsxParts),
  docx: zipOf(docxParts),
}

const svg = (prolog: string, root = '<svg xmlns="http://www.w3.org/2000/svg"/>') => Buffer.from(prolog + root)

/** Files that are what their name says, in ways that are easily got wrong. */
export const SOUND: [what: string, name: string, bytes: Buffer][] = [
  ['a jpeg called .jpeg', 'a.jpeg', SAMPLES['jpeg']!],
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
  ['a docx with data descriptors', 'a.docx', zipOf(docxParts, { descriptors: true })],
  ['an xlsx with data descriptors', 'a.xlsx', zipOf(xlsxParts, { descriptors: true })],
  ['a docx whose content types come last', 'a.docx', zipOf(reversed(docxParts))],
  ['an xlsx whose content types come last', 'a.xlsx', zipOf(reversed(xlsxParts))],
  [
    'a docx whose main part has another name',
    'a.docx',
    zipOf({
      '[Content_Types].xml': types(DOCX_MAIN, '/word/document2.xml'),
      'word/document2.xml': '<w:document/>',
    }),
  ],
  ['a docx without content types', 'a.docx', zipOf({ 'word/document.xml': '' })],
  [
    'a docx with a workbook inside',
    'a.docx',
    zipOf({ ...docxParts, 'word/embeddings/a.xlsx': SAMPLES['xlsx']! }),
  ],
]

const macros = (parts: Record<string, string>, main: string) =>
  Object.fromEntries(
    Object.entries(parts).map(([name, text]) => [
      name,
      text.replace(main, 'application/vnd.ms-word.document.macroEnabled.main+xml'),
    ]),
  )

/** Files that are of none of the formats, whatever their name. */
export const FOREIGN: [what: string, name: string, bytes: Buffer][] = [
  ['an HTML page as svg', 'a.svg', Buffer.from('<!doctype html><html><svg></svg></html>\0')],
  ['text with a NUL', 'a.txt', Buffer.from('a\0b')],
  ['text with an escape', 'a.txt', Buffer.from('a\x1b[31mb')],
  ['text with a delete', 'a.txt', Buffer.from('a\x7fb')],
  ['text that is no UTF-8', 'a.txt', Buffer.from('é', 'latin1')],
  ['text cut inside a letter', 'a.txt', Buffer.from('abcé').subarray(0, 4)],
  ['text in UTF-16', 'a.txt', Buffer.from('\uFEFFhello', 'utf16le')],
  ['a program', 'a.pdf', Buffer.from('\x7fELF\x02\x01\x01', 'latin1')],
  ['a zip of something else', 'a.docx', zipOf({ 'a.txt': 'a' })],
  ['a zip that is both', 'a.docx', zipOf({ 'word/document.xml': '', 'xl/workbook.xml': '' })],
  [
    'a presentation',
    'a.docx',
    zipOf({
      '[Content_Types].xml': types(
        'application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml',
        '/ppt/presentation.xml',
      ),
      'ppt/presentation.xml': '',
    }),
  ],
  ['a docm by its content types', 'a.docx', zipOf(macros(docxParts, DOCX_MAIN))],
  ['an xlsm by its macros', 'a.xlsx', zipOf({ ...xlsxParts, 'xl/vbaProject.bin': 'x' })],
  ['a zip cut in the middle', 'a.docx', SAMPLES['docx']!.subarray(0, 200)],
  [
    'a directory of too many entries',
    'a.docx',
    zipOf({
      ...docxParts,
      ...Object.fromEntries(Array.from({ length: 10_001 }, (_, index) => [`word/${index}`, ''])),
    }),
  ],
]
