import { newTraceparent, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdempotencyHeader } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { idempotencyOf } from '../http/idempotency'
import { sendJson } from '../http/send-json'
import { refusal } from '../validation/refusal'
import { imagesOf, newVisitorLead } from './visitor-lead'
import { VisitorLead } from './visitor-lead-fields'

/** POST /manage/leads: a visitor's lead with its quotes, all or nothing. */
export const createVisitorLead = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(VisitorLead)
  app.post(
    '/manage/leads',
    {
      onRequest: authenticate('manage'),
      schema: describe({
        operationId: 'createVisitorLead',
        tag: 'Management',
        summary: "Create a visitor's lead",
        description:
          'Creates a lead with its customer, quotes and items, all or nothing, and sends the Lead Created webhook. A lead may have 20 quotes, 250 items in all, and an event of 1,000,000 bytes (the webhook with its image records, as it is sent to be delivered), unless the operator has set other limits: beyond them the answer is 422, with the limit.',
        scope: 'manage',
        headers: IdempotencyHeader,
        body: VisitorLead,
        answer: { description: 'The new lead.', schema: dataOf({ $ref: 'Lead#' }) },
        problems: ['conflict'],
      }),
    },
    async (request, reply) => {
      const { accountId } = request.principal
      const body = bodyOf(request)
      const idempotency = idempotencyOf(request, body.fields)
      const { value, faults, fields } = check(body)
      if (faults) {
        const references = { userId: fields['user_id'], images: imagesOf(fields) }
        throw await refusal({ clients, limits: limitsOf(reply), accountId, faults, references })
      }
      const traceparent = parseTraceparent(request.headers['traceparent']) ?? newTraceparent()
      const lead = newVisitorLead(request, value, body)
      return sendJson(
        reply,
        await clients.createLead({ accountId, lead, idempotency, traceparent }, limitsOf(reply)),
      )
    },
  )
}
