import { LEAD_REFERRERS, LEAD_STATUSES, type NewLead } from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { visitorAddress } from '../http/visitor-address'
import { id, integer, oneOf, text } from '../validation/fields'

/** The value that a lead is given. */
export const leadValue = integer({
  minimum: 0,
  maximum: 2_147_483_647,
  description: 'Value of the lead in GBP.',
  examples: [4500],
})

/** The fields of Create Lead, in the order of the interface. */
export const CreateLead = Type.Object({
  name: text({ description: 'Name of the lead.', examples: ['New windows, front of house'] }),
  first_name: text({ description: "Customer's first name.", examples: ['Ada'] }),
  last_name: text({ description: "Customer's last name.", examples: ['Lovelace'] }),
  company_name: Type.Optional(
    text({ description: "Customer's company.", examples: ['Analytical Engines Ltd'] }),
  ),
  email: text({ format: 'email', description: "Customer's email address.", examples: ['ada@example.com'] }),
  phone: text({
    format: 'phone',
    description: 'Telephone number; kept as it is given.',
    examples: ['020 7946 0123'],
  }),
  mobile: Type.Optional(text({ format: 'phone', description: 'Mobile number.', examples: ['07700 900123'] })),
  postcode: text({
    format: 'postcode',
    description: 'UK postcode of the lead. Case and spaces do not matter; it is stored as `SW1A 1AA`.',
    examples: ['SW1A 1AA'],
  }),
  referrer: oneOf(LEAD_REFERRERS, { description: 'Where the lead came from.', examples: ['Website'] }),
  status: oneOf(LEAD_STATUSES, { description: 'Status of the lead.', examples: ['open'] }),
  user_id: Type.Optional(id({ description: 'The user to assign the lead to.' })),
})

const USER_AGENT_LENGTH = 1024

/** The browser of a request, as far as a lead keeps it. */
const userAgentOf = ({ headers }: FastifyRequest): string => {
  const text = headers['user-agent']?.trim() || 'unknown'
  return text.length > USER_AGENT_LENGTH ? [...text].slice(0, USER_AGENT_LENGTH).join('') : text
}

/** A lead as leads-service takes it, with nothing beyond what Create Lead gives (design: Create). */
export const newLead = (
  request: FastifyRequest,
  fields: Omit<Static<typeof CreateLead>, 'referrer'> & { referrer: string },
): NewLead => ({
  name: fields.name,
  value: 0,
  description: undefined,
  postcode: fields.postcode,
  userAgent: userAgentOf(request),
  ip: visitorAddress(request),
  referrer: fields.referrer,
  referrerUrl: undefined,
  status: fields.status,
  test: request.principal.test,
  userId: fields.user_id,
  firstName: fields.first_name,
  lastName: fields.last_name,
  companyName: fields.company_name,
  email: fields.email,
  phone: fields.phone,
  mobile: fields.mobile,
  quotes: [],
})
