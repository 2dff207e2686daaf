import { ServiceError } from '@leadwire/service-kit/runtime'

/** The end of the error message for an invalid cursor. */
export const INVALID_CURSOR = 'is invalid. Send the next_cursor of a response unchanged.'

/**
 * Encodes the place at which a list continues, in base64url. The result is a `next_cursor`, which clients
 * send back unchanged.
 */
export const encodeCursor = (place: string | number): string =>
  Buffer.from(String(place)).toString('base64url')

/** Returns the place that a cursor encodes, or an empty string for an invalid cursor. */
export const decodeCursor = (cursor: string): string => {
  const place = Buffer.from(cursor, 'base64url').toString()
  return encodeCursor(place) === cursor ? place : ''
}

/**
 * Returns the parts that `pattern` captures from a decoded cursor (`place`). Throws `invalid` if `place` does
 * not match `pattern`: the cursor is then from another list.
 */
export const splitPlace = (place: string, pattern: RegExp): string[] => {
  const parts = pattern.exec(place)
  if (!parts) throw ServiceError.invalid({ cursor: [`The cursor ${INVALID_CURSOR}`] })
  return parts.slice(1)
}

/**
 * Returns the id that a decoded cursor (`place`) consists of. Returns undefined if there is no cursor. Throws
 * `invalid` if `place` is not an id.
 */
export const readPlaceId = (place: string | undefined): number | undefined =>
  place === undefined ? undefined : Number(splitPlace(place, /^([1-9]\d{0,14})$/)[0])
