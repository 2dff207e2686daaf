import { newTraceparent, parseTraceparent } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdempotencyHeader } from '../docs/shared-schemas'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { idempotencyOf } from '../http/idempotency'
import { sendJson } from '../http/send-json'
import { refusal } from '../validation/refusal'
import { createLeadFields, newLead } from './lead-fields'

const CreateLead = Type.Object(createLeadFields)

/** POST /leads (interface: Create Lead). */
export const createLead = (
  app: FastifyInstance,
  { authenticate, clients, validation }: Dependencies,
): void => {
  const check = validation.checker(CreateLead)
  app.post(
    '/leads',
    {
      onRequest: authenticate('leads'),
      schema: describe({
        operationId: 'createLead',
        tag: 'Leads',
        summary: 'Create a lead',
        description:
          "Creates a lead with its customer and sends the Lead Created webhook. The visitor's address, browser and device are told from the request.",
        scope: 'leads',
        headers: IdempotencyHeader,
        body: CreateLead,
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
        const references = { userId: fields['user_id'] }
        throw await refusal({ clients, limits: limitsOf(reply), accountId, faults, references })
      }
      const traceparent = parseTraceparent(request.headers['traceparent']) ?? newTraceparent()
      const lead = newLead(request, value)
      return sendJson(
        reply,
        await clients.createLead({ accountId, lead, idempotency, traceparent }, limitsOf(reply)),
      )
    },
  )
}
