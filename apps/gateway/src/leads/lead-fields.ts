import { isIP } from 'node:net'
import { LEAD_REFERRERS, LEAD_STATUSES, type NewLead, oneLine, type Visitor } from '@leadwire/contracts'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyRequest } from 'fastify'
import { named } from '../api/schemas'
import { headerText } from '../http/utf8'
import { id, integer, oneOf, text } from '../validation/fields'

export const leadValue = integer('Value of the lead in GBP.', 4500, { minimum: 0, maximum: 2_147_483_647 })

/** The fields of Create Lead, in the order of the interface. */
export const CreateLead = named('CreateLeadRequest', {
  name: text('Name of the lead.', 'New windows, front of house'),
  first_name: text("Customer's first name.", 'Ada'),
  last_name: text("Customer's last name.", 'Lovelace'),
  company_name: Type.Optional(text("Customer's company.", 'Analytical Engines Ltd')),
  email: text("Customer's email address.", 'ada@example.com', { format: 'email' }),
  phone: text('Telephone number; kept as it is given.', '020 7946 0123', { format: 'phone' }),
  mobile: Type.Optional(text('Mobile number.', '07700 900123', { format: 'phone' })),
  postcode: text(
    'UK postcode of the lead. Case and spaces do not matter; it is stored as `SW1A 1AA`.',
    'SW1A 1AA',
    { format: 'postcode' },
  ),
  referrer: oneOf(LEAD_REFERRERS, 'Where the lead came from.', 'Website'),
  status: oneOf(LEAD_STATUSES, 'Status of the lead.', 'open'),
  user_id: Type.Optional(id('The user to assign the lead to.')),
})

const USER_AGENT_LENGTH = 1024

/** Truncated to what a lead keeps. */
const userAgentOf = ({ headers }: FastifyRequest): string => {
  const text = oneLine(headerText(headers['user-agent'] ?? '')).trim() || 'unknown'
  return text.length > USER_AGENT_LENGTH ? [...text].slice(0, USER_AGENT_LENGTH).join('') : text
}

/** The peer's IP address, or behind trusted proxies the first untrusted one of X-Forwarded-For; IPv4 where it is mapped. */
const visitorAddress = ({ ip, raw }: FastifyRequest): string =>
  (isIP(ip) ? ip : (raw.socket.remoteAddress ?? '0.0.0.0')).replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/** The visitor that a request comes from, for a lead that names no other. */
export const visitorOf = (request: FastifyRequest): Visitor => ({
  userAgent: userAgentOf(request),
  ip: visitorAddress(request),
  test: request.principal.test,
})

/** The lead of a Create Lead request (design: Create). */
export const newLead = (
  { userAgent, ip, test }: Visitor,
  fields: Omit<Static<typeof CreateLead>, 'referrer'> & { referrer: string },
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
})
