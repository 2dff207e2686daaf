import { extname } from 'node:path'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'

export interface Detected {
  format?: FileFormat | undefined
  /** The charset of a text file. */
  charset?: string
  /** Maps an extension to the reason why the content of the file does not fit this extension. */
  why?: Partial<Record<string, string>>
}

const EITHER = new Intl.ListFormat('en-GB', { type: 'disjunction' })

/**
 * Returns error messages for the API's client, or an empty list for a valid file. A file is valid if its
 * content has one of the accepted formats and its name has an extension of that format.
 */
export const listFileErrors = (
  { format, why }: Detected,
  { name, size, accepted }: { name: string; size: number; accepted: readonly string[] },
): string[] => {
  const extension = extname(name).slice(1).toLowerCase()
  if (size === 0) return ['The file must not be empty.']
  if (!format || !accepted.includes(format)) {
    const reason = accepted.includes(extension) ? why?.[extension] : undefined
    return [reason ?? `The file must be a file of type: ${accepted.join(', ')}.`]
  }
  const { extension: usual, extensions } = FILE_FORMATS[format]
  if (extensions.includes(extension)) return []
  const expected = EITHER.format(extensions.map((known) => `.${known}`))
  if (extension === '') return [`The file name must have an extension: ${expected}.`]
  // Repeats the client's text only if it looks like an extension.
  const shown = /^[a-z0-9]{1,10}$/.test(extension) ? ` .${extension}` : ''
  return [`The file extension${shown} does not match its content (${format}). Use the extension .${usual}.`]
}
