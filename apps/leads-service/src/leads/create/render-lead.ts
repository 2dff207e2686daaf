import { randomUUID } from 'node:crypto'
import {
  type CreateLead,
  eventBody,
  type Image,
  type Lead,
  leadDetailsJson,
  withAttributes,
} from '@leadwire/contracts'
import { LRUCache } from 'lru-cache'
import { UAParser } from 'ua-parser-js'
import { phoneNumbers } from '../../contacts/phone-numbers'
import { buildLeadEvent, type OutboxEvent } from '../../outbox/record-events'
import { type LeadJson, leadBody, renderLeadJson, wholeLeadJson } from '../read/lead-response'
import { isTest } from '../read/lead-rows'
import type { Stamp } from './number-leads'

const UNKNOWN = 'unknown'

const parseUserAgent = (userAgent: string) => {
  const { browser, device, os } = new UAParser(userAgent).getResult()
  return {
    // The parser names no type for a desktop computer.
    device_type: device.type ?? (os.name ? 'desktop' : UNKNOWN),
    device_name: [device.vendor, device.model].filter(Boolean).join(' ') || UNKNOWN,
    browser: browser.name ?? UNKNOWN,
    browser_version: browser.version ?? UNKNOWN,
    os: os.name ?? UNKNOWN,
    os_version: os.version ?? UNKNOWN,
  }
}

// Caches parsed user agents, because a few user agents cause most of the traffic, and parsing a user agent
// takes some fifty regular expressions.
const devices = new LRUCache<string, ReturnType<typeof parseUserAgent>>({
  max: 2000,
  memoMethod: parseUserAgent,
})

/** The records that a new lead refers to. They are known to exist. */
export interface LeadReferences {
  findImage(accountId: number, imageId: number): Image
  /** Returns the e-mail address of the user that the new lead is assigned to. */
  findUserEmail(item: CreateLead): string | undefined
}

/** Builds a new lead as it is stored and shown. */
export const buildLead = (
  { accountId, lead }: CreateLead,
  { id, customerId, createdAt, quoteIds, itemIds }: Stamp,
  { findImage }: Pick<LeadReferences, 'findImage'>,
): Lead => {
  const asked = lead!
  // `asked.createdAt` is from another machine, whose clock may be ahead. A time in the future is replaced
  // with `createdAt`.
  const bornAt = asked.createdAt !== undefined && asked.createdAt < createdAt ? asked.createdAt : createdAt
  let itemAt = 0
  // Each record is one literal. Spreading the fields of the request takes ten times as long.
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
    ...devices.memo(asked.userAgent),
    status: asked.status,
    type: 'quote',
    test: isTest(asked) ? 1 : 0,
    created_at: bornAt,
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
      created_at: bornAt,
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
        image: findImage(accountId, item.imageId),
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

/** A new lead, with its stored JSON, its event and its response. */
export interface RenderedLead {
  item: CreateLead
  number: number
  lead: Lead
  json: LeadJson
  /** The event `lead.created`. Undefined for the lead of an import without webhooks. */
  event: OutboxEvent | undefined
  /** The response of Create Lead, `{"data": Lead}`. */
  body: Buffer
}

/**
 * Renders the body of a webhook. Unlike the response, the body has no `product_style` in the items of quotes.
 */
const renderWebhook = (lead: Lead, json: LeadJson, attributes?: string): Buffer => {
  const details = lead.quotes.length === 0 ? json.details : leadDetailsJson(lead, { productStyle: false })
  const data = wholeLeadJson({ item: json.item, details })
  return eventBody('lead.created', attributes === undefined ? data : withAttributes(data, attributes))
}

/** Renders the event `lead.created` of a new lead. `body` is the response. */
const renderEvent = (
  { item, lead, json, body }: Omit<RenderedLead, 'event' | 'number'>,
  { accountKey, createdAt }: Stamp,
  userEmail: string | undefined,
): OutboxEvent => {
  const { accountId, traceparent } = item
  const { attributes } = item.lead!
  return buildLeadEvent({
    accountId,
    accountKey,
    type: 'lead.created',
    lead: { reference: lead.reference, test: lead.test === 1, version: 1 },
    at: createdAt,
    traceparent,
    match: { status: lead.status, referrer: lead.referrer, postcode: lead.postcode, userEmail },
    // Without quotes, the body of the webhook is the same as the response.
    body: lead.quotes.length === 0 ? body : renderWebhook(lead, json),
    bodyWithAttributes: attributes === undefined ? undefined : renderWebhook(lead, json, attributes),
  })
}

/** Renders a new lead: its stored JSON, its response and its event, if it has one. */
export const renderNewLead = (
  item: CreateLead,
  stamp: Stamp,
  settings: { references: LeadReferences; jsonFormat: number; hasEvent: boolean },
): RenderedLead => {
  const { references, jsonFormat, hasEvent } = settings
  const lead = buildLead(item, stamp, references)
  const json = renderLeadJson(lead, jsonFormat)
  const body = leadBody(json)
  const rendered = { item, lead, json, body }
  const event = hasEvent ? renderEvent(rendered, stamp, references.findUserEmail(item)) : undefined
  return { ...rendered, number: stamp.number, event }
}
