import { isInvisible, oneLine } from '@leadwire/contracts'

const MAX_LENGTH = 255

/** The base name of a client's file, without folders of either kind (design: Attach). */
export const baseName = (fileName: string): string => oneLine(fileName.split(/[/\\]/).pop()!.trim())

/** What is wrong with a base name, or undefined. */
export const fileNameError = (name: string): string | undefined => {
  if (isInvisible(name)) return 'The file must have a name.'
  if (/[\0\p{Surrogate}]/u.test(name)) return 'The file name contains characters that are not allowed.'
  return [...name].length > MAX_LENGTH
    ? `The file name may not be greater than ${MAX_LENGTH} characters.`
    : undefined
}

const ascii = (name: string) => name.replace(/[^\x20-\x7e]|["\\%]/g, '_')

const extended = (name: string) =>
  encodeURIComponent(name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)

/** A Content-Disposition that saves under a file name of any script (RFC 6266, RFC 8187). */
export const attachmentDisposition = (fileName: string): string => {
  const name = oneLine(fileName)
  const plain = `attachment; filename="${ascii(name)}"`
  return ascii(name) === name ? plain : `${plain}; filename*=UTF-8''${extended(name)}`
}
