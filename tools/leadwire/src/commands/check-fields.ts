import {
  addErrors,
  createChecks,
  isEmpty,
  type ListErrors,
  labelField,
  listTextErrors,
  type UncheckedFields,
} from '@leadwire/requests'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'

// The time zone of these checks does not matter, because no command accepts a time without an offset.
const createCheck = createChecks('UTC')

/**
 * Lists the errors of empty options. The API ignores an empty value. On a command line an empty value usually
 * is an unset variable, and must not silently drop a filter or an expiry.
 */
const listEmptyErrors = ({ properties, required = [] }: TObject, fields: UncheckedFields): FieldErrors => {
  const errors: FieldErrors = {}
  for (const [name, value] of Object.entries(fields)) {
    const isClearing = [properties[name]?.['type']].flat().includes('null')
    if (typeof value === 'string' && isEmpty(value) && !isClearing && !required.includes(name))
      errors[name] = [`The ${labelField(name)} may not be empty.`]
  }
  return errors
}

/**
 * Validates the options of a command with the schema of the API's request, and returns them converted to the
 * types of the schema. Throws a ServiceError `invalid` with the errors of all fields.
 */
export const checkFields = <Schema extends TObject>(
  schema: Schema,
  fields: UncheckedFields,
  listErrors?: ListErrors,
): Static<Schema> => {
  const textErrors = addErrors(listTextErrors(fields), listEmptyErrors(schema, fields))
  const { value, errors } = createCheck(schema, listErrors)({ fields, errors: textErrors })
  if (errors) throw ServiceError.invalid(errors)
  return value
}
