import { LEAD_REFERRERS, LEAD_STATUSES, type NewLead, type Visitor } from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import { enumeration, id, integer, text } from '../validation/fields'

export const leadValue = integer('Value of the lead in GBP.', 4500, { minimum: 0, maximum: 2_147_483_647 })

const leadFields = {
  name: text('Name of the lead.', 'New windows, front of house'),
  first_name: text("Customer's first name.", 'Ada'),
  last_name: text("Customer's last name.", 'Lovelace'),
  company_name: Type.Optional(text("Customer's company.", 'Analytical Engines Ltd')),
  email: text("Customer's email address.", 'ada@example.com', { format: 'email' }),
  phone: text("Customer's telephone number, stored as given.", '020 7946 0123', { format: 'phone' }),
  mobile: Type.Optional(
    text("Customer's mobile number, stored as given.", '07700 900123', { format: 'phone' }),
  ),
  postcode: text(
    'UK postcode of the lead. Case and spaces do not matter. Stored in the form `SW1A 1AA`.',
    'SW1A 1AA',
    { format: 'postcode' },
  ),
  referrer: enumeration(LEAD_REFERRERS, 'Where the lead came from.', 'Website'),
  status: enumeration(LEAD_STATUSES, 'Status of the lead.', 'open'),
  user_id: Type.Optional(id('The ID of the user to assign the lead to.')),
}

/** The body of Create Lead. Its fields are in the order of the lead API. */
export const CreateLeadBody = Type.Object(leadFields, { title: 'CreateLeadRequest' })

/**
 * The referrers that a visitor may set. Only the account knows its existing customers, so a visitor cannot
 * claim to be one.
 */
export const PUBLIC_REFERRERS = LEAD_REFERRERS.filter((referrer) => referrer !== 'Existing Customer')

/** The body of Create Lead with a publishable token. Anybody can read such a token in a public page. */
export const PublicLeadBody = Type.Object(
  {
    ...leadFields,
    referrer: enumeration(PUBLIC_REFERRERS),
    status: enumeration(['open']),
    user_id: Type.Optional(Type.Never()),
  },
  { title: 'CreatePublicLeadRequest' },
)

/** Converts the fields of Create Lead to the form in which leads-service expects a new lead. */
export const toNewLead = (
  { userAgent, ip, test }: Visitor,
  fields: Omit<Static<typeof CreateLeadBody>, 'referrer'> & { referrer: string },
): NewLead => ({
  name: fields.name,
  value: 0,
  description: undefined,
  postcode: fields.postcode,
  userAgent,
  ip,
  referrer: fields.referrer,
  referrerUrl: undefined,
  status: fields.status,
  test,
  userId: fields.user_id,
  firstName: fields.first_name,
  lastName: fields.last_name,
  companyName: fields.company_name,
  email: fields.email,
  phone: fields.phone,
  mobile: fields.mobile,
  quotes: [],
  attributes: undefined,
  externalId: undefined,
  upsert: undefined,
  createdAt: undefined,
})
