import { randomUUID } from 'node:crypto'
import { FILE_FORMATS, type FileFormat } from '@leadwire/contracts'

const KINDS = Object.values(FILE_FORMATS)
const EXTENSIONS = KINDS.map(({ extension }) => extension).join('|')
const KEY = new RegExp(`^[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.(${EXTENSIONS})$`)

/** A unique key that can't be guessed: `<collection>/<random uuid>.<extension>`, without any text of a client. */
export const newObjectKey = (collection: string, format: FileFormat): string =>
  `${collection}/${randomUUID()}.${FILE_FORMATS[format].extension}`

/** Whether `newObjectKey` could have made it. No other key may reach a store, where it becomes a path. */
export const isObjectKey = (key: string): boolean => KEY.test(key)

/** The media type of the object with a key of `newObjectKey`. */
export const contentTypeOf = (key: string): string =>
  KINDS.find(({ extension }) => key.endsWith(`.${extension}`))!.contentType
