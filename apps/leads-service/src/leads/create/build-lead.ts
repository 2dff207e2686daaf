import { randomUUID } from 'node:crypto'
import { type CreateLead, eventBody, type Lead, leadDetailsJson, withAttributes } from '@leadwire/contracts'
import { phoneNumbers } from '../../contacts/phone-numbers'
import { leadEvent } from '../../outbox/lead-event'
import type { OutboxEvent } from '../../outbox/record-events'
import { type LeadJson, leadBody, leadJsonOf, wholeLeadJson } from '../read/lead-response'
import { isTest } from '../read/lead-rows'
import type { Stamp } from './number-leads'
import type { References } from './references'
import { visitorDevice } from './visitor-device'

/** A new lead as it is stored and shown. `imageOf` knows every image of its items. */
export const buildLead = (
  { accountId, lead }: CreateLead,
  { id, customerId, createdAt, quoteIds, itemIds }: Stamp,
  imageOf: References['imageOf'],
): Lead => {
  const asked = lead!
  let itemAt = 0
  // One literal for each record, without rest or spread of what was asked: that costs ten times as much.
  return {
    id,
    reference: randomUUID(),
    name: asked.name,
    value: asked.value,
    description: asked.description ?? null,
    postcode: asked.postcode,
    user_agent: asked.userAgent,
    ip: asked.ip,
    referrer: asked.referrer,
    referrer_url: asked.referrerUrl ?? null,
    ...visitorDevice(asked.userAgent),
    status: asked.status,
    type: 'quote',
    test: isTest(asked) ? 1 : 0,
    created_at: createdAt,
    updated_at: createdAt,
    customer: {
      id: customerId,
      first_name: asked.firstName,
      last_name: asked.lastName,
      name: `${asked.firstName} ${asked.lastName}`,
      company_name: asked.companyName ?? null,
      email: asked.email,
      phone: asked.phone,
      phone_link: phoneNumbers(asked.phone)[0].link,
      mobile: asked.mobile ?? null,
      mobile_link: asked.mobile === undefined ? null : phoneNumbers(asked.mobile)[0].link,
      address_1: null,
      address_2: null,
      city: null,
      county: null,
      postcode: asked.postcode,
      avatar_url: null,
      created_at: createdAt,
    },
    quotes: asked.quotes.map(({ status, items }, quoteAt) => ({
      id: quoteIds[quoteAt]!,
      lead_id: id,
      status,
      created_at: createdAt,
      updated_at: createdAt,
      items: items.map((item) => ({
        id: itemIds[itemAt++]!,
        quote_id: quoteIds[quoteAt]!,
        product_style_id: item.productStyleId,
        name: item.name,
        price: item.price,
        cost: item.cost ?? null,
        margin: item.margin ?? null,
        tax: item.tax ?? null,
        minimum: item.minimum ?? null,
        maximum: item.maximum ?? null,
        format: item.format,
        hidden: item.hidden ? 1 : 0,
        status: item.status,
        created_at: createdAt,
        updated_at: createdAt,
        image: imageOf(accountId, item.imageId),
        product_style: {
          sku: item.productStyleSku,
          name: item.productStyleName,
          product: { name: item.productName },
        },
        options: item.options,
      })),
    })),
  }
}

/** A new lead with all that is written and answered of it. */
export interface RenderedLead {
  item: CreateLead
  number: number
  lead: Lead
  json: LeadJson
  /** Its lead.created, where it is published. */
  event: OutboxEvent | undefined
  /** The response of Create Lead. */
  body: Buffer
}

/** Renders a new lead: response and webhook share their bytes, unless it has quotes, whose items have a product_style in one of them. */
export const renderNewLead = (
  item: CreateLead,
  stamp: Stamp,
  {
    imageOf,
    userEmailOf,
    jsonFormat,
    hasEvent,
  }: Pick<References, 'imageOf' | 'userEmailOf'> & { jsonFormat: number; hasEvent: boolean },
): RenderedLead => {
  const lead = buildLead(item, stamp, imageOf)
  const json = leadJsonOf(lead, jsonFormat)
  const body = leadBody(json)
  const webhookJson = () => {
    const details = lead.quotes.length === 0 ? json.details : leadDetailsJson(lead, { productStyle: false })
    return wholeLeadJson({ item: json.item, details })
  }
  const attributes = item.lead!.attributes
  const event = () =>
    leadEvent({
      accountId: item.accountId,
      accountKey: stamp.accountKey,
      type: 'lead.created',
      lead: { reference: lead.reference, test: lead.test === 1, version: 1 },
      at: stamp.createdAt,
      traceparent: item.traceparent,
      match: {
        status: lead.status,
        referrer: lead.referrer,
        postcode: lead.postcode,
        userEmail: userEmailOf(item),
      },
      body: lead.quotes.length === 0 ? body : eventBody('lead.created', webhookJson()),
      bodyWithAttributes: attributes
        ? eventBody('lead.created', withAttributes(webhookJson(), attributes))
        : undefined,
    })
  return { item, number: stamp.number, lead, json, event: hasEvent ? event() : undefined, body }
}
