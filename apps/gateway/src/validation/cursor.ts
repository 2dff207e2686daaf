import { ServiceError } from '@leadwire/service-kit'

/** What `next_cursor` says, which clients pass back as it is: base64url of the place where the list continues. */
export const cursorOf = (place: string | number): string => Buffer.from(String(place)).toString('base64url')

/** The place that a cursor says; empty where it is no cursor. */
export const placeOf = (cursor: string): string => {
  const place = Buffer.from(cursor, 'base64url').toString()
  return cursorOf(place) === cursor ? place : ''
}

/** The parts of a place. Throws invalid where the cursor is of another list. */
export const partsOf = (place: string, pattern: RegExp): string[] => {
  const parts = pattern.exec(place)
  if (!parts) throw ServiceError.invalid({ cursor: ['The cursor format is invalid.'] })
  return parts.slice(1)
}

/** The id that a place is, where the query has one. Throws invalid. */
export const idOf = (place: string | undefined): number | undefined =>
  place === undefined ? undefined : Number(partsOf(place, /^([1-9]\d{0,14})$/)[0])
