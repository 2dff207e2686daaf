import { isIP } from 'node:net'
import { type CreateLead, Lead, type NewLead, oneLine, type Visitor } from '@leadwire/contracts'
import { type Body, CreateLeadBody, PublicLeadBody, toNewLead } from '@leadwire/requests'
import {
  activeTraceparent,
  type CallLimits,
  newTraceparent,
  parseTraceparent,
  ServiceError,
} from '@leadwire/service-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { BATCHED_CALL_COST } from '../admission/admission'
import { withDailyLimit } from '../admission/rate-limits'
import { readIdempotency, renderSaved } from '../api/call-limits'
import { type Call, type Dependencies, operation } from '../api/operation'
import { recordResponse } from '../api/schemas'
import { readBody } from '../body/parse-body'
import { tagged } from '../http/entity-tags'
import { headerText } from '../http/utf8'
import { toVisitorLead, VisitorLeadBody } from './visitor-lead'

const USER_AGENT_LENGTH = 1024

/** Returns the user agent, truncated to the length that a lead stores. */
const readUserAgent = ({ headers }: FastifyRequest): string => {
  const text = oneLine(headerText(headers['user-agent'] ?? '')).trim() || 'unknown'
  return text.length > USER_AGENT_LENGTH ? [...text].slice(0, USER_AGENT_LENGTH).join('') : text
}

/**
 * Returns the client's IP address. Without trusted proxies, this is the IP address of the peer. Behind
 * trusted proxies, this is the rightmost untrusted IP address of X-Forwarded-For. A mapped IPv4 address is
 * returned as IPv4.
 */
const readAddress = ({ ip, raw }: FastifyRequest): string =>
  (isIP(ip) ? ip : (raw.socket.remoteAddress ?? '0.0.0.0')).replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '')

/** Returns the sender of a request as the visitor. The fields of a lead may name another visitor. */
export const readVisitor = (request: FastifyRequest): Visitor => ({
  userAgent: readUserAgent(request),
  ip: readAddress(request),
  test: request.principal.test,
})

/** Returns the trace context of a request. The lead's webhook continues this trace. */
export const readTraceparent = ({ headers }: FastifyRequest): string =>
  activeTraceparent() ?? parseTraceparent(headers['traceparent']) ?? newTraceparent()

/**
 * Creates a lead with a publishable token, within the daily limit. Resolves with the new or saved response,
 * and with the lead's reference.
 */
export const createCaptured = async (
  { clients, captureDaily }: Dependencies,
  reply: FastifyReply,
  item: CreateLead,
  limits: CallLimits,
) => {
  const created = await withDailyLimit(reply, { name: 'day', quota: captureDaily }, () =>
    clients.createLead({ ...item, dailyLimit: captureDaily }, limits),
  )
  const { reference } = (JSON.parse(Buffer.from(created.body).toString()) as { data: Lead }).data
  return { ...created, reference }
}

/** Creates a lead with a publishable token. The response contains only the reference. */
const createPublicLead = async ({ request, reply, accountId, dependencies, limits }: Call<unknown>) => {
  const body = readBody(request)
  const idempotency = readIdempotency(request, body.fields)
  // Creating this check for each request is cheap, because Ajv compiles the schema only once.
  const { value, errors } = dependencies.createCheck(PublicLeadBody)(body)
  // Does not look up the user, because the error must not reveal which users exist.
  if (!value) throw ServiceError.invalid(errors)
  const lead = toNewLead(readVisitor(request), value)
  const item = { accountId, lead, idempotency, traceparent: readTraceparent(request), actor: limits.actor }
  const { reference, replayed } = await createCaptured(dependencies, reply, item, limits)
  return renderSaved(reply, { body: Buffer.from(JSON.stringify({ data: { reference } })), replayed })
}

/** Creates a lead with a token that is not publishable. `toLead` converts the checked fields to the lead. */
const createFullLead = async <Fields>(
  call: Call<Fields>,
  toLead: (visitor: Visitor, fields: Fields, body: Body) => NewLead,
) => {
  const { request, reply, accountId, clients, limits } = call
  const body = readBody(request)
  const idempotency = readIdempotency(request, body.fields)
  const fields = await call.valid()
  const lead = toLead(readVisitor(request), fields, body)
  const item = { accountId, lead, idempotency, traceparent: readTraceparent(request), actor: limits.actor }
  // Sends a lead with an external id separately and not in a batch, because such a lead waits for other
  // writes with the same id.
  const send = lead.externalId === undefined ? clients.createLead : clients.upsertLead
  const created = await send(item, limits)
  return tagged(reply, created.etag, renderSaved(reply, created))
}

/** Implements the lead API, section Create Lead. */
export const createLead = operation({
  route: 'POST /leads',
  tag: 'Leads',
  summary: 'Create a lead',
  description:
    "Creates a lead with its customer and sends the Lead Created webhook. The visitor's IP address, browser and device are detected from the request. With a publishable token, the request needs an `Origin` that the token allows, the body is limited to 64 KiB, and the response has only the `reference`. Such a request cannot set `user_id`, a `status` other than `open`, or the `referrer` `Existing Customer` (422).",
  scope: 'leads:create',
  idempotent: true,
  etag: 'new',
  body: CreateLeadBody,
  answer: recordResponse(Lead, 'The new lead.'),
  callCost: BATCHED_CALL_COST,
  handler: (call) =>
    call.request.principal.isPublishable ? createPublicLead(call) : createFullLead(call, toNewLead),
})

export const createVisitorLead = operation({
  route: 'POST /manage/leads',
  summary: 'Create a visitor lead',
  description:
    'Creates a lead with its customer, quotes and items, and sends the Lead Created webhook. The request creates everything or nothing. By default, a lead may have 20 quotes with 250 items in total, and its event (the webhook body with all image records) may have 1,000,000 bytes. The operator can set other limits. Beyond a limit, the response is a 422 that states the limit.',
  idempotent: true,
  etag: 'new',
  body: VisitorLeadBody,
  answer: recordResponse(Lead, 'The new lead.'),
  callCost: BATCHED_CALL_COST,
  handler: (call) => createFullLead(call, toVisitorLead),
})
