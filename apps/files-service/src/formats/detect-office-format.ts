import { FILE_FORMATS } from '@leadwire/contracts'
import { openPromise, type ZipFile } from 'yauzl'

// A document has some dozen parts, a big workbook some hundred. Reading a directory of more is not worth the time.
const MOST_ENTRIES = 10_000
const MOST_CONTENT_TYPES = 1024 * 1024

const MAIN_NAME = { docx: 'word/document.xml', xlsx: 'xl/workbook.xml' }

type OfficeFormat = keyof typeof MAIN_NAME

// ECMA-376 part 1, 11.3.10 and 12.3.23; the strict variant has the same media types.
const mainPart = (format: OfficeFormat) => `"${FILE_FORMATS[format].contentType}.main+xml"`

/**
 * Which Office format a zip file is, undefined for any other zip, for one with macros, and for one that can't be read.
 *
 * Reads the central directory, so the order of the entries and data descriptors do not matter (file-type, which reads
 * the entries from the front, needs the sizes in their headers).
 */
export const detectOfficeFormat = async (path: string): Promise<OfficeFormat | undefined> => {
  const zip = await openPromise(path, { autoClose: false }).catch(() => undefined)
  if (!zip) return undefined
  try {
    const { names, contentTypes } = await readParts(zip)
    if (names.has('vbaProject.bin') || contentTypes.includes('macroEnabled')) return undefined
    // The content types decide, because the main part may have any name (some Word versions write word/document2.xml).
    return contentTypes.includes('.main+xml')
      ? only((format) => contentTypes.includes(mainPart(format)))
      : only((format) => names.has(MAIN_NAME[format]))
  } catch {
    return undefined
  } finally {
    zip.close()
  }
}

const only = (matches: (format: OfficeFormat) => boolean): OfficeFormat | undefined => {
  const found = (['docx', 'xlsx'] as const).filter(matches)
  return found.length === 1 ? found[0] : undefined
}

/** The telling names among the entries, and the text of `[Content_Types].xml`; '' when it is missing or damaged. */
const readParts = async (zip: ZipFile): Promise<{ names: Set<string>; contentTypes: string }> => {
  const names = new Set<string>()
  let contentTypes = ''
  if (zip.entryCount > MOST_ENTRIES) return { names, contentTypes }
  for await (const entry of zip.eachEntry()) {
    const { fileName } = entry
    if (fileName === MAIN_NAME.docx || fileName === MAIN_NAME.xlsx) names.add(fileName)
    if (fileName.endsWith('/vbaProject.bin')) names.add('vbaProject.bin')
    if (fileName === '[Content_Types].xml') {
      contentTypes = await zip
        .openReadStreamPromise(entry)
        .then(readText)
        .catch(() => '')
    }
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
  return Buffer.concat(chunks).toString('utf8')
}
