import { type CreateLead as CreateLeadItem, Lead, type NewLead, type Visitor } from '@leadwire/contracts'
import {
  activeTraceparent,
  type CallLimits,
  newTraceparent,
  parseTraceparent,
  ServiceError,
} from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Dependencies } from '../api/dependencies'
import { idempotencyOf, replayable } from '../api/idempotency'
import { type Call, operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { dataOf } from '../api/schemas'
import { isPublishable } from '../auth/publishable'
import { bodyOf } from '../body/body'
import { tagged } from '../http/entity-tags'
import type { Body } from '../validation/checker'
import { CreateLead, newLead, visitorOf } from './lead-fields'
import { imagesOf, newVisitorLead, VisitorLead } from './visitor-lead'

/** The trace of a request, carried to the webhook. */
export const traceparentOf = ({ headers }: FastifyRequest): string =>
  activeTraceparent() ?? parseTraceparent(headers['traceparent']) ?? newTraceparent()

/** Creates a lead of a publishable token, within the limit of a day. Resolves to the saved or new response, and its reference. */
export const createCaptured = async (
  { clients, captureDaily }: Dependencies,
  reply: FastifyReply,
  item: CreateLeadItem,
  limits: CallLimits,
) => {
  try {
    const created = await clients.createLead({ ...item, dailyLimit: captureDaily }, limits)
    const { reference } = (JSON.parse(Buffer.from(created.body).toString()) as { data: Lead }).data
    return { ...created, reference }
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'rate_limited')
      reply.headers({
        'ratelimit-policy': `"day";q=${captureDaily};w=86400`,
        ratelimit: `"day";r=0;t=${error.retryAfterS}`,
      })
    throw error
  }
}

/** The handler of an operation that creates a lead. `newLead` makes it of the checked fields. */
const leadCreation =
  <Fields>(newLead: (visitor: Visitor, fields: Fields, body: Body) => NewLead) =>
  async (call: Call<Fields>) => {
    const { request, accountId, clients, limits } = call
    const body = bodyOf(request)
    const idempotency = idempotencyOf(request, body.fields)
    const value = await call.valid((fields) =>
      referenceErrors(call, { userId: fields['user_id'], images: imagesOf(fields) }),
    )
    const traceparent = traceparentOf(request)
    const lead = newLead(visitorOf(request), value, body)
    const item = { accountId, lead, idempotency, traceparent, actor: limits.actor }
    if (isPublishable(request.principal)) {
      const { reference, replayed } = await createCaptured(call.dependencies, call.reply, item, limits)
      return replayable(call.reply, { body: Buffer.from(JSON.stringify({ data: { reference } })), replayed })
    }
    const created = await clients.createLead(item, limits)
    return tagged(call.reply, created.etag, replayable(call.reply, created))
  }

/** Interface: Create Lead. */
export const createLead = operation({
  route: 'POST /leads',
  tag: 'Leads',
  summary: 'Create a lead',
  description:
    "Creates a lead with its customer and sends the Lead Created webhook. The visitor's address, browser and device are detected from the request. A publishable token needs an `Origin` that it names, and is answered with the `reference` alone.",
  scope: 'leads:create',
  idempotent: true,
  etag: 'new',
  body: CreateLead,
  answer: dataOf(Lead, 'The new lead.'),
  isBatched: true,
  handler: leadCreation(newLead),
})

export const createVisitorLead = operation({
  route: 'POST /manage/leads',
  summary: "Create a visitor's lead",
  description:
    'Creates a lead with its customer, quotes and items, all or nothing, and sends the Lead Created webhook. A lead may have 20 quotes, 250 items in all, and an event of 1,000,000 bytes (the webhook with its image records, as it is sent to be delivered), unless the operator has set other limits: beyond them the answer is 422, with the limit.',
  idempotent: true,
  etag: 'new',
  body: VisitorLead,
  answer: dataOf(Lead, 'The new lead.'),
  isBatched: true,
  handler: leadCreation(newVisitorLead),
})
