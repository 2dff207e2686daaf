import { POSTCODE } from '@leadwire/contracts'
import type { TSchema } from '@sinclair/typebox'

// JSON Schema does not know the formats of validation/formats.ts.
const FORMATS: Record<string, object> = {
  // Case and spaces do not matter.
  postcode: {
    pattern: POSTCODE.source
      .replace(/A-Z|[A-Z]/g, (letter) => (letter === 'A-Z' ? 'A-Za-z' : `[${letter}${letter.toLowerCase()}]`))
      .replaceAll(' ', ' *'),
  },
  // The service takes the digits of every script.
  phone: { pattern: '[0-9٠-٩۰-۹０-９]' },
  lines: {},
  ip: { anyOf: [{ format: 'ipv4' }, { format: 'ipv6' }] },
  'one-line': { pattern: '^[^\\x00-\\x1f\\x7f]*$' },
  'web-url': { format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?://' },
  instant: { format: 'date-time' },
  overlap: { pattern: '^[0-9]+(ms|s|m|h|d)$' },
  'local-date-time': { pattern: '^[0-9]{2}/[0-9]{2}/[0-9]{4} [0-9]{2}:[0-9]{2}$' },
}

const isText = ({ type, format, enum: words }: TSchema) => type === 'string' && format !== 'binary' && !words

const inJsonSchema = ({ format, ...rest }: TSchema) => {
  const known = FORMATS[format]
  return known ? { ...rest, ...known } : { ...rest, ...(format && { format }) }
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
