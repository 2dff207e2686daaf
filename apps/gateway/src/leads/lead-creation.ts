import type { NewLead } from '@leadwire/contracts'
import { newTraceparent, parseTraceparent } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import { bodyOf } from '../http/body'
import { limitsOf } from '../http/call-limits'
import { idempotencyOf } from '../http/idempotency'
import { sendJson } from '../http/send-json'
import type { Handler } from '../operation'
import type { Body } from '../validation/checker'
import { refusal } from '../validation/refusal'
import { imagesOf } from './visitor-lead'

/** Makes the handler of an operation that creates a lead; `newLead` is the lead that the checked fields stand for. */
export const leadCreation =
  <Fields>(newLead: (request: FastifyRequest, fields: Fields, body: Body) => NewLead): Handler<Fields> =>
  async (request, reply, { clients, check }) => {
    const { accountId } = request.principal
    const body = bodyOf(request)
    const idempotency = idempotencyOf(request, body.fields)
    const { value, faults, fields } = check(body)
    if (faults) {
      const references = { userId: fields['user_id'], images: imagesOf(fields) }
      throw await refusal({ clients, limits: limitsOf(reply), accountId, faults, references })
    }
    const traceparent = parseTraceparent(request.headers['traceparent']) ?? newTraceparent()
    const lead = newLead(request, value, body)
    const created = await clients.createLead({ accountId, lead, idempotency, traceparent }, limitsOf(reply))
    return sendJson(reply, created)
  }
