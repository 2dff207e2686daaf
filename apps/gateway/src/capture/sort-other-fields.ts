import { ATTRIBUTE_BYTES, isInvisible, MAX_ATTRIBUTES, manyLines, oneLine } from '@leadwire/contracts'
import { labelField } from '@leadwire/requests'
import type { FieldErrors } from '@leadwire/service-kit'
import { isTechnicalField } from './technical-fields'

export interface OtherFields {
  attributes: Record<string, string | number | boolean>
  /** Lines of the description, for the fields that cannot be attributes. */
  notes: string[]
  errors: FieldErrors
}

const LONGEST_NAME = 100

/** Returns the attribute key of a form field: `your_message` for `Your-Message`. */
const attributeKey = (field: string): string => {
  const key = field
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return (/^[a-z]/.test(key) ? key : `field_${key}`).slice(0, 40)
}

const dropTechnicalFields = (name: string, value: unknown) => (isTechnicalField(name) ? undefined : value)

const readText = (value: unknown): string => {
  const texts = [value].flat()
  if (!texts.every((one) => typeof one === 'string')) return JSON.stringify(value, dropTechnicalFields)
  const visible = texts.map((text) => manyLines(text).trim()).filter((text) => !isInvisible(text))
  return visible.join(', ')
}

/**
 * Returns whether a program wrote a text, such as a URL or a token. A text counts as written by a program if
 * it is ASCII without white space.
 */
const isMachineText = (text: string): boolean => /^[!-~]*$/.test(text)

/**
 * Returns the value of a field, or undefined if the field is empty. Truncates a text that a program wrote,
 * such as a URL, to the size of an attribute.
 */
const readValue = (value: unknown): string | number | boolean | undefined => {
  if (typeof value === 'number' || typeof value === 'boolean') return value
  const text = value === null ? '' : readText(value)
  if (isInvisible(text)) return undefined
  return isMachineText(text) ? text.slice(0, ATTRIBUTE_BYTES) : text
}

/**
 * Makes attributes of the form fields for which `isOther` is true, in the order of the form. Makes a note of
 * each text that is too long for an attribute, and of each field beyond the maximum number of attributes. To
 * report these fields as errors would lose the lead.
 */
export const sortOtherFields = (
  fields: Record<string, unknown>,
  isOther: (field: string) => boolean,
): OtherFields => {
  const attributes: OtherFields['attributes'] = {}
  const notes: string[] = []
  const errors: FieldErrors = Object.create(null)
  for (const [field, given] of Object.entries(fields)) {
    if (!isOther(field)) continue
    const value = readValue(given)
    if (value === undefined) continue
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      // Reports an error, because JSON.parse may have changed a number beyond the safe integers.
      errors[field] = [`The ${labelField(field)} is too large for a number. Send it as a string.`]
      continue
    }
    const key = attributeKey(field)
    // Joins the values of fields with the same key. Different names may give the same key: every name without
    // ASCII letters and digits gives `field_`.
    const isShared = Object.hasOwn(attributes, key)
    const hasRoom = isShared || Object.keys(attributes).length < MAX_ATTRIBUTES
    const joined = isShared ? `${attributes[key]}, ${value}` : value
    if (hasRoom && Buffer.byteLength(String(joined)) <= ATTRIBUTE_BYTES) attributes[key] = joined
    else notes.push(`${oneLine(field).slice(0, LONGEST_NAME)}: ${value}`)
  }
  return { attributes, notes, errors }
}
