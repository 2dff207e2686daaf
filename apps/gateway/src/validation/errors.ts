import type { FieldErrors } from '@leadwire/service-kit'

/** The errors of both, field by field. */
export const addErrors = (first: FieldErrors, second: FieldErrors): FieldErrors => {
  const errors = new Map(Object.entries(first))
  for (const [field, messages] of Object.entries(second)) {
    errors.set(field, [...(errors.get(field) ?? []), ...messages])
  }
  return Object.fromEntries(errors)
}
