import { ServiceError } from '@leadwire/service-kit/runtime'

/** The end of the error message for an invalid cursor. */
export const INVALID_CURSOR = 'is invalid. Send the next_cursor of a response unchanged.'

/**
 * Encodes the place where a list continues, as `next_cursor` in base64url. Clients send it back unchanged.
 */
export const encodeCursor = (place: string | number): string =>
  Buffer.from(String(place)).toString('base64url')

/** Returns the place that a cursor encodes, or an empty string for an invalid cursor. */
export const decodeCursor = (cursor: string): string => {
  const place = Buffer.from(cursor, 'base64url').toString()
  return encodeCursor(place) === cursor ? place : ''
}

/** Returns the parts of a place. Throws invalid for a cursor of another list. */
export const splitPlace = (place: string, pattern: RegExp): string[] => {
  const parts = pattern.exec(place)
  if (!parts) throw ServiceError.invalid({ cursor: [`The cursor ${INVALID_CURSOR}`] })
  return parts.slice(1)
}

/**
 * Returns the id that a decoded cursor consists of. Returns undefined without a cursor. Throws invalid
 * for any other place.
 */
export const readPlaceId = (place: string | undefined): number | undefined =>
  place === undefined ? undefined : Number(splitPlace(place, /^([1-9]\d{0,14})$/)[0])
