import type { FieldErrors } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { addErrors } from './errors'
import { FORMATS } from './formats'
import { messageOf } from './messages'
import { normalise } from './normalise'
import { nameOf } from './text-errors'

/** A well-formed request body with unchecked fields. */
export interface Body {
  fields: Record<string, unknown>
  /** The text of a JSON body; undefined for a form. */
  json?: string
  /** The fields are those of an application/x-www-form-urlencoded body. */
  form?: true
  /** Strings and keys that no field may hold. */
  errors: FieldErrors
}

/** Either the value in the schema's types, or every error with the fields as they are. */
export type Checked<T> =
  | { value: T; errors?: undefined; fields?: undefined }
  | { value?: undefined; errors: FieldErrors; fields: Record<string, unknown> }

export type CreateCheck = <Schema extends TObject>(schema: Schema) => (body: Body) => Checked<Static<Schema>>

const MAX_FIELDS_WITH_ERRORS = 1000

const fieldOf = ({ instancePath, keyword, params }: ErrorObject): string => {
  const parts = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') parts.push((params as { missingProperty: string }).missingProperty)
  return parts.reduce((path, part) => nameOf(path && `${path}.`, part), '')
}

const errorsOf = (found: ErrorObject[]): FieldErrors => {
  const byField = new Map<string, ErrorObject[]>()
  for (const error of found) {
    // What is wrong with a key is an error of its own.
    if (error.keyword === 'propertyNames') continue
    const field = fieldOf(error)
    const known = byField.get(field)
    if (known) known.push(error)
    else if (byField.size < MAX_FIELDS_WITH_ERRORS) byField.set(field, [error])
  }
  return Object.fromEntries(
    [...byField].map(([field, errors]) => {
      // A value of the wrong type is no allowed value either: saying both helps no client.
      const wrongType = errors.filter(({ keyword }) => keyword === 'type')
      const reported = wrongType.length > 0 ? wrongType : errors
      return [field, [...new Set(reported.map((error) => messageOf(field, error)))]]
    }),
  )
}

/** Checks request fields by TypeBox schemas, of which types and OpenAPI document are made. `timeZone` is that of clients' dates. */
export const createChecks = (timeZone: string): CreateCheck => {
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes: false,
    allowUnionTypes: true,
    // Errors have the value, for hints.
    verbose: true,
    formats: Object.fromEntries(
      Object.entries(FORMATS).map(([name, { isValid }]) => [name, (text: string) => isValid(text, timeZone)]),
    ),
  })
  return (schema) => {
    // Compiled for the first request: that of all operations takes half of the gateway's start.
    let validate: ValidateFunction | undefined
    return (body) => {
      validate ??= ajv.compile(schema)
      const fields = normalise(schema, body.fields, body.form ? 'form' : 'json') as Record<string, unknown>
      const valid = validate(fields)
      if (valid && Object.keys(body.errors).length === 0) return { value: fields as Static<typeof schema> }
      return { errors: addErrors(body.errors, errorsOf(validate.errors ?? [])), fields }
    }
  }
}
