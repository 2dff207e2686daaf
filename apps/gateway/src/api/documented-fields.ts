import type { TSchema } from '@sinclair/typebox'
import { FORMATS } from '../validation/formats'

const isText = ({ type, format, enum: words }: TSchema) => type === 'string' && format !== 'binary' && !words

const inJsonSchema = ({ format, ...rest }: TSchema) => {
  const { schema = format && { format } } = FORMATS[format] ?? {}
  return { ...rest, ...schema }
}

const documentedField = (schema: TSchema, required: boolean) => ({
  // An empty text counts as absent.
  ...(required && isText(schema) && { minLength: 1 }),
  ...inJsonSchema(documentedFields(schema)),
})

/** The fields of a request in terms of JSON Schema alone. */
export const documentedFields = (schema: TSchema): TSchema => {
  const { properties, items, required = [] } = schema
  if (items) return { ...schema, items: documentedFields(items) }
  if (!properties) return schema
  const fields = Object.entries(properties as Record<string, TSchema>).map(([name, field]) => [
    name,
    documentedField(field, required.includes(name)),
  ])
  return { ...schema, properties: Object.fromEntries(fields) }
}
