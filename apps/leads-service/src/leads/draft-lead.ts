import { randomUUID } from 'node:crypto'
import {
  type CreateLead,
  type Image,
  LeadCreated,
  type NewQuoteItem,
  type QuoteItem,
} from '@leadwire/contracts'
import { isTest } from './lead-rows'
import { phoneLink } from './phone-link'
import { UNKNOWN } from './stamp-event'
import { visitorDevice } from './visitor-device'

/** A lead on its way into the database. */
export interface Draft {
  item: CreateLead
  /** Its event, in which `stampEvent` puts what the database says in the place of what stands for it. */
  event: LeadCreated
  /** How long the event will be: what stands for something has its length. */
  bytes: number
}

/** Puts together what can be said of a lead before it is written. `imageOf` knows every image of its items. */
export const draftLead = (
  item: CreateLead,
  imageOf: (accountId: number, imageId: number) => Image,
): Draft => {
  const event = eventOf(item, imageOf)
  return { item, event, bytes: LeadCreated.encode(event).finish().length }
}

const UNWRITTEN = { id: UNKNOWN.id, createdAt: UNKNOWN.createdAt, updatedAt: UNKNOWN.createdAt }

const draftItem = (asked: NewQuoteItem, image: Image): QuoteItem => {
  const { imageId: _, productStyleSku: sku, productStyleName: name, productName, ...item } = asked
  return { ...item, ...UNWRITTEN, quoteId: UNKNOWN.id, image, productStyle: { sku, name, productName } }
}

const eventOf = (
  { accountId, lead: asked, traceparent }: CreateLead,
  imageOf: (accountId: number, imageId: number) => Image,
): LeadCreated => {
  const lead = asked!
  return {
    eventId: randomUUID(),
    accountId,
    accountKey: UNKNOWN.accountKey,
    traceparent,
    lead: {
      id: UNKNOWN.id,
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
      test: isTest(lead),
      createdAt: UNKNOWN.createdAt,
      updatedAt: UNKNOWN.createdAt,
      customer: {
        id: UNKNOWN.id,
        firstName: lead.firstName,
        lastName: lead.lastName,
        companyName: lead.companyName,
        email: lead.email,
        phone: lead.phone,
        phoneLink: phoneLink(lead.phone),
        mobile: lead.mobile,
        mobileLink: lead.mobile === undefined ? undefined : phoneLink(lead.mobile),
        postcode: lead.postcode,
        createdAt: UNKNOWN.createdAt,
      },
      quotes: lead.quotes.map(({ status, items }) => ({
        ...UNWRITTEN,
        leadId: UNKNOWN.id,
        status,
        items: items.map((item) => draftItem(item, imageOf(accountId, item.imageId))),
      })),
    },
  }
}
