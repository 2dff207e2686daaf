import { type Actor, isInvisible, isOneLine, LEAD_STATUSES, type StoredFile } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'

export { isInstant, isUuid } from '@leadwire/contracts'

export const isId = (id: number): boolean => Number.isSafeInteger(id) && id > 0

export const isOptional = <Value>(value: Value | undefined, isSound: (value: Value) => boolean): boolean =>
  value === undefined || isSound(value)

/** Whether a text can be stored and is no longer than `max` characters. PostgreSQL stores no NUL. */
export const isText = (text: string, max = 255): boolean =>
  !text.includes('\0') && (text.length <= max || [...text].length <= max)

/** The same of a text that says something. */
export const isSaid = (text: string, max?: number): boolean => text !== '' && isText(text, max)

export const isStatus = (status: string): boolean => (LEAD_STATUSES as readonly string[]).includes(status)

export const isActor = ({ tokenId, requestId }: Actor): boolean => isId(tokenId) && isText(requestId)

export const fileFields = (file: StoredFile | undefined): Record<string, boolean> => ({
  file: file !== undefined,
  ...(file && {
    key: isSaid(file.key),
    name: isText(file.name),
    file_name: isText(file.fileName),
    file_size: file.fileSize > 0,
    content_type: isSaid(file.contentType),
  }),
})

/** What is wrong with the name of an account, a user or a token. The command line comes here past the gateway's checks. */
export const nameErrors = (name: string): FieldErrors => {
  if (isInvisible(name)) return { name: ['The name field is required.'] }
  if (!isOneLine(name)) return { name: ['The name contains characters that are not allowed.'] }
  if (!isText(name)) return { name: ['The name must not be longer than 255 characters.'] }
  return {}
}

/** The errors of the invalid fields, each by `path` and its name. */
export const errorsOf = (fields: Record<string, boolean>, path = ''): FieldErrors =>
  Object.fromEntries(
    Object.entries(fields)
      .filter(([, sound]) => !sound)
      .map(([field]) => [path + field, [`The ${field.replaceAll('_', ' ')} is invalid.`]]),
  )

/** The error that carries field errors; undefined when there are none. */
export const invalidBy = (fieldErrors: FieldErrors): ServiceError | undefined =>
  Object.keys(fieldErrors).length > 0 ? ServiceError.invalid(fieldErrors) : undefined

export const refuse = (fieldErrors: FieldErrors): void => {
  const error = invalidBy(fieldErrors)
  if (error) throw error
}

/** Throws `invalid` with every field that is not as it must be. The gateway has checked them; others call, too. */
export const validate = (fields: Record<string, boolean>): void => refuse(errorsOf(fields))
