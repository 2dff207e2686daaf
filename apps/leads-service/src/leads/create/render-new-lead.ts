import { type CreateLead, eventBody, type Lead, leadDetailsJson } from '@leadwire/contracts'
import { leadEvent } from '../../outbox/lead-event'
import type { OutboxEvent } from '../../outbox/record-events'
import { type LeadJson, leadBody, leadJsonOf, wholeLeadJson } from '../read/lead-json'
import { buildLead } from './build-lead'
import type { References } from './load-references'
import type { Stamp } from './number-leads'

/** A new lead with all that is written and answered of it. */
export interface RenderedLead {
  item: CreateLead
  number: number
  lead: Lead
  json: LeadJson
  event: OutboxEvent
  /** The response of Create Lead. */
  body: Buffer
}

/** Renders a new lead: response and webhook share their bytes, unless it has quotes, whose items have a product_style in one of them. */
export const renderNewLead = (
  item: CreateLead,
  stamp: Stamp,
  { imageOf, jsonFormat }: { imageOf: References['imageOf']; jsonFormat: number },
): RenderedLead => {
  const lead = buildLead(item, stamp, imageOf)
  const json = leadJsonOf(lead, jsonFormat)
  const body = leadBody(json)
  const createdBody = () => {
    const details = leadDetailsJson(lead, { productStyle: false })
    return eventBody('lead.created', wholeLeadJson({ item: json.item, details }))
  }
  const { accountId, traceparent } = item
  const { accountKey, number, createdAt: at } = stamp
  const { reference } = lead
  const event = leadEvent({
    ...{
      accountId,
      accountKey,
      type: 'lead.created',
      lead: { reference, test: lead.test === 1, version: 1 },
      at,
    },
    ...{ traceparent, body: lead.quotes.length === 0 ? body : createdBody() },
  })
  return { item, number, lead, json, event, body }
}
