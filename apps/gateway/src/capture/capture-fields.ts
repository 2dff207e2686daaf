import {
  ATTRIBUTE_BYTES,
  isInvisible,
  LEAD_REFERRERS,
  LEAD_STATUSES,
  MAX_ATTRIBUTES,
  manyLines,
  type NewLead,
  type Visitor,
} from '@leadwire/contracts'
import type { FieldErrors } from '@leadwire/service-kit'
import { type Static, Type } from '@sinclair/typebox'
import { described } from '../api/schemas'
import { CreateLead, newLead } from '../leads/lead-fields'
import { VisitorLead } from '../leads/visitor-lead'
import { oneOf, text } from '../validation/fields'

const { name: _name, referrer: _referrer, status: _status, ...others } = CreateLead.properties

export const CaptureForm = described('CaptureForm', 'Further fields become attributes of the lead.', {
  name: Type.Optional(
    text("Name of the lead. By default the title, else the customer's name.", 'New windows'),
  ),
  title: Type.Optional(text('The title of the page.', 'Kitchen windows', { maxLength: 2048 })),
  ...others,
  referrer: Type.Optional(oneOf(LEAD_REFERRERS, 'By default `Website`.', 'Website')),
  status: Type.Optional(oneOf(LEAD_STATUSES, 'By default `open`.', 'open')),
  description: VisitorLead.properties.description,
  stamp: Type.Optional(text('From `GET /capture/:token/stamp`.')),
})

export type CaptureFields = Static<typeof CaptureForm>

/** `Your-Message` is `your_message`. */
const attributeKey = (field: string): string => {
  const key = field
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
  return (/^[a-z]/.test(key) ? key : `field_${key}`).slice(0, 40)
}

const attributeText = (value: unknown): string => {
  const texts = [value].flat()
  if (!texts.every((one) => typeof one === 'string')) return JSON.stringify(value)
  const kept = texts.map((text) => manyLines(text).trim()).filter((text) => !isInvisible(text))
  return kept.join(', ')
}

/** A form's other fields. */
export const attributesOf = (
  fields: Record<string, unknown>,
  honeypot: string | undefined,
): { attributes: Record<string, unknown>; errors: FieldErrors } => {
  const attributes: Record<string, unknown> = {}
  const errors: FieldErrors = Object.create(null)
  let count = 0
  for (const [field, value] of Object.entries(fields)) {
    if (Object.hasOwn(CaptureForm.properties, field) || field === honeypot) continue
    const isPlain = typeof value === 'number' || typeof value === 'boolean' || value === null
    const kept = isPlain ? value : attributeText(value)
    if (kept === null || (typeof kept === 'string' && isInvisible(kept))) continue
    // As in `attributes` elsewhere: it would be another number.
    if (typeof kept === 'number' && Math.abs(kept) > Number.MAX_SAFE_INTEGER)
      errors[field] = [`The field may not be a number beyond ${Number.MAX_SAFE_INTEGER}.`]
    count += 1
    if (count > MAX_ATTRIBUTES)
      return { attributes, errors: { [field]: [`A form may have ${MAX_ATTRIBUTES} fields of its own.`] } }
    const key = attributeKey(field)
    // Two names may make one key, as all do that have no letter of ours.
    const joined = Object.hasOwn(attributes, key) ? `${attributes[key]}, ${kept}` : kept
    if (typeof joined === 'string' && Buffer.byteLength(joined) > ATTRIBUTE_BYTES)
      errors[field] = [`The field may not be larger than ${ATTRIBUTE_BYTES} bytes.`]
    attributes[key] = joined
  }
  return { attributes, errors }
}

const NAME_LENGTH = 255

export const capturedLead = (
  visitor: Visitor,
  fields: CaptureFields,
  { attributes, isSpam }: { attributes: Record<string, unknown>; isSpam: boolean },
): NewLead => {
  const customer = `${fields.first_name} ${fields.last_name}`
  const name = fields.name ?? [...(fields.title ?? customer)].slice(0, NAME_LENGTH).join('')
  const { referrer = 'Website', status = 'open' } = fields
  return {
    ...newLead(visitor, { ...fields, name, referrer, status: isSpam ? 'spam' : status }),
    description: fields.description,
    attributes: Object.keys(attributes).length > 0 ? JSON.stringify(attributes) : undefined,
  }
}
