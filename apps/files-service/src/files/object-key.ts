import { randomUUID } from 'node:crypto'
import { FORMATS, type Format } from '../formats/formats'

const EXTENSIONS = Object.values(FORMATS).map(({ extension }) => extension)
const KEY = new RegExp(`^[a-z]+/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\\.(${EXTENSIONS.join('|')})$`)

export const isCollection = (name: string): boolean => /^[a-z]+$/.test(name)

/** A key nobody has and nobody can guess: `<collection>/<random uuid>.<extension>`. Nothing a client sent is in it. */
export const newObjectKey = (collection: string, format: Format): string =>
  `${collection}/${randomUUID()}.${FORMATS[format].extension}`

/** Whether `newObjectKey` could have made it. No other key may reach a store: it becomes a path there. */
export const isObjectKey = (key: string): boolean => KEY.test(key)
