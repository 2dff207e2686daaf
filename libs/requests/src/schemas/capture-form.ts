import { type Static, Type } from '@sinclair/typebox'
import { enumeration, text } from '../validation/fields'
import { CreateLeadBody, PUBLIC_REFERRERS, PublicLeadBody } from './create-lead'

const {
  name: _name,
  referrer: _referrer,
  status: _status,
  user_id: _user,
  ...others
} = PublicLeadBody.properties

export const captureReferrer = enumeration(
  PUBLIC_REFERRERS,
  'Where the lead came from. Default `Website`. A value that is not in this list is ignored.',
  'Website',
)

export const DESCRIPTION_LENGTH = 10_000

/**
 * The maximum size of a whole form in bytes, so no field of a form is longer. A field with this maximum is
 * never refused for its length, because a refusal would lose the lead. A text that is longer than a lead can
 * store is truncated later.
 */
const ANY_LENGTH = 64 * 1024

export const CaptureForm = Type.Object(
  {
    name: Type.Optional(
      text("Name of the lead. Default: `title`, otherwise the customer's name.", 'New windows'),
    ),
    title: Type.Optional(
      text(
        'Title of the page or, in some forms, a salutation such as `Mrs`. If `name` is absent, a title that is not a salutation becomes the name of the lead. In all other cases, the title becomes an attribute.',
        'Kitchen windows',
        { maxLength: ANY_LENGTH },
      ),
    ),
    ...others,
    referrer: Type.Optional(captureReferrer),
    description: Type.Optional(
      text(
        `Description of the lead. May have several lines. Form fields that do not fit into the attributes are appended, one line each. The result is truncated to ${DESCRIPTION_LENGTH} characters.`,
        'Would like to be called after six.',
        { maxLength: ANY_LENGTH, format: 'lines' },
      ),
    ),
    stamp: Type.Optional(text('Stamp from `GET /capture/:token/stamp`.')),
  },
  { title: 'CaptureForm', description: 'Fields with other names become attributes of the lead.' },
)

export type CaptureFields = Static<typeof CaptureForm>

/** Returns whether Create Lead or a form has a field with this name. */
export const isLeadField = (name: string): boolean =>
  Object.hasOwn(CaptureForm.properties, name) || Object.hasOwn(CreateLeadBody.properties, name)
