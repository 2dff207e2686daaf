import { randomUUID } from 'node:crypto'
import { type CreateLead, encodeMessage, LeadCreated } from '@leadwire/contracts'
import { phoneLink } from './phone-link'
import { visitorDevice } from './visitor-device'

/** A lead on its way into the database. */
export interface Draft {
  item: CreateLead
  /** Its event, without its quotes and without what `stampEvent` adds. */
  event: LeadCreated
  /** The event as the outbox holds it; undefined where it has to wait for the ids of quotes. */
  payload: Uint8Array | undefined
}

export const draftLead = (item: CreateLead): Draft => {
  const event = eventOf(item)
  const complete = item.lead!.quotes.length === 0
  return { item, event, payload: complete ? encodeMessage(LeadCreated, event) : undefined }
}

const eventOf = ({ accountId, lead: asked, traceparent }: CreateLead): LeadCreated => {
  const lead = asked!
  return {
    eventId: randomUUID(),
    accountId,
    accountKey: '',
    traceparent,
    lead: {
      id: 0,
      reference: randomUUID(),
      name: lead.name,
      value: lead.value,
      description: lead.description,
      postcode: lead.postcode,
      userAgent: lead.userAgent,
      ip: lead.ip,
      referrer: lead.referrer,
      referrerUrl: lead.referrerUrl,
      ...visitorDevice(lead.userAgent),
      status: lead.status,
      type: 'quote',
      // A lead with status `test` is a test lead, whoever made it.
      test: lead.test || lead.status === 'test',
      createdAt: '',
      updatedAt: '',
      customer: {
        id: 0,
        firstName: lead.firstName,
        lastName: lead.lastName,
        companyName: lead.companyName,
        email: lead.email,
        phone: lead.phone,
        phoneLink: phoneLink(lead.phone),
        mobile: lead.mobile,
        mobileLink: lead.mobile === undefined ? undefined : phoneLink(lead.mobile),
        postcode: lead.postcode,
        createdAt: '',
      },
      quotes: [],
    },
  }
}
