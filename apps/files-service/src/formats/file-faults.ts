import { extname } from 'node:path'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'

/**
 * What is wrong with a file, as sentences for the API's client; empty when nothing is.
 * Its content must be of an accepted format, and its name must have an extension of that format.
 */
export const faultsOfFile = (file: {
  name: string
  size: number
  format: FileFormat | undefined
  accepted: readonly string[]
}): string[] => {
  const { name, size, format, accepted } = file
  if (size === 0) return ['The file must not be empty.']
  if (!format || !accepted.includes(format))
    return [`The file must be a file of type: ${accepted.join(', ')}.`]
  const { extensions } = FILE_FORMATS[format]
  const extension = extname(name).slice(1)
  if (extensions.includes(extension.toLowerCase())) return []
  const expected = extensions.map((known) => `.${known}`).join(' or ')
  if (extension === '') return [`The file name must have an extension: ${expected}.`]
  // Words of the client's own are shown only when they are as short and plain as extensions are.
  const shown = /^[A-Za-z0-9]{1,10}$/.test(extension) ? ` .${extension.toLowerCase()}` : ''
  return [`The file extension${shown} does not match its content (${format}).`]
}
