import { randomUUID } from 'node:crypto'
import {
  type CreateLead,
  type Image,
  LeadCreated,
  type NewQuoteItem,
  type QuoteItem,
} from '@leadwire/contracts'
import { phoneNumbers } from '../contacts/phone-numbers'
import { isTest } from './lead-rows'
import type { References } from './load-references'
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

// One literal, with no rest or spread of what was asked: taking an object apart that way costs ten times as much.
const draftItem = (item: NewQuoteItem, image: Image): QuoteItem => ({
  id: UNKNOWN.id,
  quoteId: UNKNOWN.id,
  productStyleId: item.productStyleId,
  name: item.name,
  price: item.price,
  cost: item.cost,
  margin: item.margin,
  tax: item.tax,
  minimum: item.minimum,
  maximum: item.maximum,
  format: item.format,
  hidden: item.hidden,
  status: item.status,
  createdAt: UNKNOWN.createdAt,
  updatedAt: UNKNOWN.createdAt,
  image,
  productStyle: { sku: item.productStyleSku, name: item.productStyleName, productName: item.productName },
  options: item.options,
})

/** Puts together what can be said of a lead before it is written. `imageOf` knows every image of its items. */
export const draftLead = (item: CreateLead, imageOf: References['imageOf']): Draft => {
  const { accountId, traceparent } = item
  const lead = item.lead!
  const event: LeadCreated = {
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
        phoneLink: phoneNumbers(lead.phone)[0].link,
        mobile: lead.mobile,
        mobileLink: lead.mobile === undefined ? undefined : phoneNumbers(lead.mobile)[0].link,
        postcode: lead.postcode,
        createdAt: UNKNOWN.createdAt,
      },
      quotes: lead.quotes.map(({ status, items }) => ({
        id: UNKNOWN.id,
        leadId: UNKNOWN.id,
        status,
        createdAt: UNKNOWN.createdAt,
        updatedAt: UNKNOWN.createdAt,
        items: items.map((asked) => draftItem(asked, imageOf(accountId, asked.imageId))),
      })),
    },
  }
  return { item, event, bytes: LeadCreated.encode(event).finish().length }
}
