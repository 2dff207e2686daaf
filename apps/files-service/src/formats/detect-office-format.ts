import type { FileHandle } from 'node:fs/promises'
import { FILE_FORMATS } from '@leadwire/contracts'
import { parser as createParser } from 'sax'
import type { Detected } from './file-errors'
import { ArchiveRefused, readArchive } from './read-archive'
import { decodeMarked } from './read-text'

const FORMATS = ['docx', 'xlsx'] as const
const CONTENT_TYPES = '[content_types].xml'
const MAIN_NAME = { docx: 'word/document.xml', xlsx: 'xl/workbook.xml' }
const MACROS = 'application/vnd.ms-office.vbaProject'
const NO_MACROS = 'The file must not contain macros. Save it without them, as .docx or .xlsx.'

/**
 * Detects the Office format of the zip file that starts at byte `start`. Returns no format for other zip
 * files, damaged files and files with macros.
 *
 * Decides by the types that [Content_Types].xml declares for the parts of the archive. The names of the parts
 * are not enough, because some versions of Word call the main part word/document2.xml. A declaration alone is
 * not enough either: SheetJS declares a macro type, although no part of the archive has this type.
 *
 * Reads only the first 64 KiB of [Content_Types].xml, which are enough for about 430 parts. If the type of
 * the main part comes later, as in large files of openpyxl, the usual name of the main part decides.
 */
export const detectOfficeFormat = async (
  file: FileHandle,
  start: number,
  signal: AbortSignal,
): Promise<Detected> => {
  try {
    const { names, part } = await readArchive(file, { start, part: CONTENT_TYPES, signal })
    const findType = readContentTypes(part ? decodeMarked(part.start) : '')
    const types = new Set(Array.from(names, findType))
    if (types.has(MACROS) || [...names].some((name) => name.endsWith('/vbaproject.bin')))
      return refuse(NO_MACROS)
    const isMainTypeRead = part?.isWhole || [...types].some((type) => type?.endsWith(MAIN_SUFFIX))
    const found = FORMATS.filter((format) =>
      isMainTypeRead ? types.has(renderMainType(format)) : names.has(MAIN_NAME[format]),
    )
    return found.length === 1 ? { format: found[0] } : {}
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof ArchiveRefused ? refuse(error.message) : {}
  }
}

const refuse = (why: string): Detected => ({ why: { docx: why, xlsx: why } })

const MAIN_SUFFIX = 'main+xml'

// Returns the type of the main part (ECMA-376 part 1, 11.3.10 and 12.3.23). Files of the strict variant of
// ECMA-376 have the same types.
const renderMainType = (format: (typeof FORMATS)[number]) =>
  `${FILE_FORMATS[format].contentType}.${MAIN_SUFFIX}`

/**
 * Returns a function that finds the type of a part by its name, or else by its extension (ECMA-376 part 2,
 * 10.1.2.4). `text` may be cut off before its end. Throws at the first syntax error, because the parser is
 * slow on a text full of errors.
 */
const readContentTypes = (text: string): ((name: string) => string | undefined) => {
  const byName = new Map<string, string>()
  const byExtension = new Map<string, string>()
  const parser = createParser(true)
  parser.onerror = (error) => {
    throw error
  }
  parser.onopentag = ({ name, attributes }) => {
    const element = name.slice(name.indexOf(':') + 1)
    const { PartName = '', Extension = '', ContentType = '' } = attributes as Record<string, string>
    if (element === 'Override') byName.set(PartName.toLowerCase(), ContentType)
    if (element === 'Default') byExtension.set(Extension.toLowerCase(), ContentType)
  }
  parser.write(text)
  return (name) => byName.get(`/${name}`) ?? byExtension.get(name.slice(name.lastIndexOf('.') + 1))
}
