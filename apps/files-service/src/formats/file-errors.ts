import { extname } from 'node:path'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'

export interface Detected {
  format?: FileFormat | undefined
  /** Of a text. */
  charset?: string
  /** Why it is not of the formats that its extension may claim. */
  why?: Partial<Record<string, string>>
}

/**
 * Error messages for the API's client; empty for a valid file. The content must be of an accepted format, and the name must have
 * an extension of that format.
 */
export const errorsOfFile = (
  { format, why }: Detected,
  { name, size, accepted }: { name: string; size: number; accepted: readonly string[] },
): string[] => {
  const extension = extname(name).slice(1).toLowerCase()
  if (size === 0) return ['The file must not be empty.']
  if (!format || !accepted.includes(format)) {
    const reason = accepted.includes(extension) ? why?.[extension] : undefined
    return [reason ?? `The file must be a file of type: ${accepted.join(', ')}.`]
  }
  const { extensions } = FILE_FORMATS[format]
  if (extensions.includes(extension)) return []
  const expected = extensions.map((known) => `.${known}`).join(' or ')
  if (extension === '') return [`The file name must have an extension: ${expected}.`]
  // The client's own text is shown only when it is as short and plain as extensions are.
  const shown = /^[a-z0-9]{1,10}$/.test(extension) ? ` .${extension}` : ''
  return [`The file extension${shown} does not match its content (${format}).`]
}
