import { type Faults, ServiceError } from '@leadwire/service-kit'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

export const isUuid = (text: string): boolean => UUID.test(text)

/** Whether a number can be the id of something. */
export const isId = (id: number): boolean => Number.isSafeInteger(id) && id > 0

/** Whether a text can be stored and is no longer than `max` characters. PostgreSQL stores no NUL. */
export const isText = (text: string, max = 255): boolean =>
  !text.includes('\0') && (text.length <= max || [...text].length <= max)

/** The same of a text that says something. */
export const isSaid = (text: string, max?: number): boolean => text !== '' && isText(text, max)

/** The faults of the fields that are not as they must be, by their names. */
export const faultsOf = (fields: Record<string, boolean>): Faults =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, sound]) => !sound)
      .map(([field]) => [field, [`The ${field.replaceAll('_', ' ')} is invalid.`]]),
  )

/** Throws `invalid` with every field that is not as it must be. The gateway has checked them; others call, too. */
export const demand = (fields: Record<string, boolean>): void => {
  if (Object.values(fields).every(Boolean)) return
  throw ServiceError.invalid(faultsOf(fields))
}
