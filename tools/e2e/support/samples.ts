import { crc32 } from 'node:zlib'

export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const types = (mainPart: string, partName: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="${partName}" ContentType="application/vnd.openxmlformats-officedocument.${mainPart}.main+xml"/></Types>`

const relations = (target: string) =>
  `<?xml version="1.0" encoding="UTF-8"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="${target}"/></Relationships>`

export type Sample = { extension: string; type: string; bytes: Buffer }

/** A small valid file of each format that may be attached (the lead API, section "Limits"). */
export const SAMPLES: Sample[] = [
  {
    extension: 'jpg',
    type: 'image/jpeg',
    bytes: Buffer.from(
      '/9j/4AAQSkZJRgABAQEASABIAAD/2wBDAP//////////////////////////////////////////////////////////////////////////////////////wAALCAABAAEBAREA/8QAFAABAAAAAAAAAAAAAAAAAAAACf/EABQQAQAAAAAAAAAAAAAAAAAAAAD/2gAIAQEAAD8AVN//2Q==',
      'base64',
    ),
  },
  { extension: 'png', type: 'image/png', bytes: PNG },
  {
    extension: 'gif',
    type: 'image/gif',
    bytes: Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64'),
  },
  {
    extension: 'svg',
    type: 'image/svg+xml',
    bytes: Buffer.from(
      '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"><script>alert(1)</script></svg>',
    ),
  },
  {
    extension: 'pdf',
    type: 'application/pdf',
    bytes: Buffer.from(
      '%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n',
    ),
  },
  { extension: 'txt', type: 'text/plain', bytes: Buffer.from('Ring twice – the bell is quiet.\n') },
  {
    extension: 'xlsx',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    bytes: zip({
      '[Content_Types].xml': types('spreadsheetml.sheet', '/xl/workbook.xml'),
      '_rels/.rels': relations('xl/workbook.xml'),
      'xl/workbook.xml':
        '<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheets/></workbook>',
    }),
  },
  {
    extension: 'docx',
    type: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
    bytes: zip({
      '[Content_Types].xml': types('wordprocessingml.document', '/word/document.xml'),
      '_rels/.rels': relations('word/document.xml'),
      'word/document.xml':
        '<?xml version="1.0"?><w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body/></w:document>',
    }),
  },
]

/** Creates a zip archive without compression. */
export function zip(entries: Record<string, string>): Buffer {
  let offset = 0
  const parts = Object.entries(entries).map(([name, content]) => {
    const data = Buffer.from(content)
    const fields = Buffer.alloc(26)
    fields.writeUInt16LE(20, 0)
    fields.writeUInt32LE(crc32(data), 10)
    fields.writeUInt32LE(data.length, 14)
    fields.writeUInt32LE(data.length, 18)
    fields.writeUInt16LE(name.length, 22)
    const local = Buffer.concat([Buffer.from('PK\x03\x04'), fields, Buffer.from(name), data])
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    const entry = Buffer.concat([Buffer.from('PK\x01\x02\x14\x00'), fields, rest, Buffer.from(name)])
    offset += local.length
    return { local, entry }
  })
  const directory = Buffer.concat(parts.map(({ entry }) => entry))
  const end = Buffer.alloc(18)
  end.writeUInt16LE(parts.length, 4)
  end.writeUInt16LE(parts.length, 6)
  end.writeUInt32LE(directory.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts.map(({ local }) => local), directory, Buffer.from('PK\x05\x06'), end])
}
