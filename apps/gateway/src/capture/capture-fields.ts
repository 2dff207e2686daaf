import type { NewLead, Visitor } from '@leadwire/contracts'
import {
  type Body,
  type CaptureFields,
  captureReferrer,
  DESCRIPTION_LENGTH,
  isLeadField,
  normalise,
  PUBLIC_REFERRERS,
  toNewLead,
} from '@leadwire/requests'
import { isSalutation } from './salutation'

const NAME_LENGTH = 255

/**
 * Returns the title if the title becomes the name of the lead. Returns undefined if the form has a name, or
 * if the title is a person's salutation.
 */
const findNamingTitle = ({ name, title }: CaptureFields): string | undefined =>
  name === undefined && title !== undefined && !isSalutation(title) ? title : undefined

/**
 * Returns whether a form field sets a field of the lead. All other form fields become attributes.
 */
export const isFieldOfLead = (name: string, fields: CaptureFields | undefined): boolean =>
  name === 'title' && fields ? findNamingTitle(fields) !== undefined : isLeadField(name)

/**
 * Removes the referrer from a form if visitors may not set this referrer. Without the removal, validation
 * would refuse the form, and the lead would be lost. `status` and `user_id` need no removal, because the
 * schema of a form ignores them.
 */
export const withoutRefusedReferrer = <Form extends Body>(form: Form): Form => {
  const given = normalise(captureReferrer, form.fields['referrer'], form.form ? 'form' : 'json')
  if ((PUBLIC_REFERRERS as unknown[]).includes(given)) return form
  const { referrer: _refused, ...fields } = form.fields
  return { ...form, fields }
}

const cutText = (text: string, maxLength: number, end = ''): string => {
  const characters = [...text]
  if (characters.length <= maxLength) return text
  return characters.slice(0, maxLength - end.length).join('') + end
}

/** Returns the description that the person wrote, followed by the notes. */
const buildDescription = (text: string | undefined, notes: string[]): string | undefined => {
  const paragraphs = [text, notes.join('\n')].filter((paragraph) => paragraph)
  if (paragraphs.length === 0) return undefined
  return cutText(paragraphs.join('\n\n'), DESCRIPTION_LENGTH, '…')
}

export const capturedLead = (
  visitor: Visitor,
  fields: CaptureFields,
  { attributes, notes, isSpam }: { attributes: Record<string, unknown>; notes: string[]; isSpam: boolean },
): NewLead => {
  const customer = `${fields.first_name} ${fields.last_name}`
  const name = fields.name ?? cutText(findNamingTitle(fields) ?? customer, NAME_LENGTH)
  const { referrer = 'Website' } = fields
  return {
    ...toNewLead(visitor, { ...fields, name, referrer, status: isSpam ? 'spam' : 'open' }),
    description: buildDescription(fields.description, notes),
    attributes: Object.keys(attributes).length > 0 ? JSON.stringify(attributes) : undefined,
  }
}
