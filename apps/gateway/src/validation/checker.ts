import type { Faults } from '@leadwire/service-kit'
import type { Static, TObject } from '@sinclair/typebox'
import { Ajv, type ErrorObject } from 'ajv'
import { addFaults } from './errors'
import { formats } from './formats'
import { sentenceOf } from './messages'
import { normalise } from './normalise'

/** A request body that could be read: an object, whatever its fields are. */
export interface Body {
  fields: Record<string, unknown>
  /** The text of a JSON body; undefined for a form. */
  json?: string
  /** The fields are those of an application/x-www-form-urlencoded body. */
  form?: true
  /** Strings and keys that no field may hold. */
  faults: Faults
}

/** Either the value in the schema's types, or every fault and the fields as far as they could be read. */
export type Checked<T> =
  | { value: T; faults?: undefined; fields?: undefined }
  | { value?: undefined; faults: Faults; fields: Record<string, unknown> }

type Check<T> = (body: Body) => Checked<T>

/** Makes the check of a schema. */
export type CreateCheck = <Schema extends TObject>(schema: Schema) => Check<Static<Schema>>

const MAX_FAULTY_FIELDS = 1000

const fieldOf = ({ instancePath, keyword, params }: ErrorObject): string => {
  const parts = instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keyword === 'required') parts.push((params as { missingProperty: string }).missingProperty)
  return parts.join('.')
}

const faultsOf = (errors: ErrorObject[]): Faults => {
  const byField = new Map<string, ErrorObject[]>()
  for (const error of errors) {
    const field = fieldOf(error)
    const known = byField.get(field)
    if (known) known.push(error)
    else if (byField.size < MAX_FAULTY_FIELDS) byField.set(field, [error])
  }
  return Object.fromEntries(
    [...byField].map(([field, found]) => {
      // What is of the wrong type is no allowed value either: saying both helps nobody.
      const wrongType = found.filter(({ keyword }) => keyword === 'type')
      const told = wrongType.length > 0 ? wrongType : found
      return [field, [...new Set(told.map((error) => sentenceOf(field, error)))]]
    }),
  )
}

/**
 * Checks request fields against TypeBox schemas: the same schemas the types and the OpenAPI document come from.
 * `timeZone` is the one in which clients give dates.
 */
export const createChecks = (timeZone: string): CreateCheck => {
  const ajv = new Ajv({
    allErrors: true,
    coerceTypes: false,
    allowUnionTypes: true,
    // With what was given, for hints.
    verbose: true,
    formats: formats(timeZone),
  })
  return (schema) => {
    const validate = ajv.compile(schema)
    return (body) => {
      const fields = normalise(schema, body.fields, body.form ? 'form' : 'json') as Record<string, unknown>
      const valid = validate(fields)
      if (valid && Object.keys(body.faults).length === 0) return { value: fields as Static<typeof schema> }
      return { faults: addFaults(body.faults, faultsOf(validate.errors ?? [])), fields }
    }
  }
}
