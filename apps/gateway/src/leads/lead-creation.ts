import type { NewLead, Visitor } from '@leadwire/contracts'
import { activeTraceparent, newTraceparent, parseTraceparent } from '@leadwire/service-kit'
import { actorOf } from '../api/actor'
import { idempotencyOf, replayable } from '../api/idempotency'
import type { Handler } from '../api/operation'
import { refusal } from '../api/reference-errors'
import { bodyOf } from '../body/body'
import { tagged } from '../http/entity-tags'
import type { Body } from '../validation/checker'
import { visitorOf } from './lead-fields'
import { imagesOf } from './visitor-lead'

/** Makes the handler of an operation that creates a lead; `newLead` is the lead that the checked fields stand for. */
export const leadCreation =
  <Fields>(newLead: (visitor: Visitor, fields: Fields, body: Body) => NewLead): Handler<Fields> =>
  async (call) => {
    const { request, accountId, clients, limits } = call
    const body = bodyOf(request)
    const idempotency = idempotencyOf(request, body.fields)
    const { value, faults, fields } = call.check(body)
    if (faults) {
      throw await refusal(call, faults, { userId: fields['user_id'], images: imagesOf(fields) })
    }
    const traceparent =
      activeTraceparent() ?? parseTraceparent(request.headers['traceparent']) ?? newTraceparent()
    const lead = newLead(visitorOf(request), value, body)
    const actor = actorOf(request)
    const created = await clients.createLead({ accountId, lead, idempotency, traceparent, actor }, limits)
    return tagged(call.reply, created.etag, replayable(call.reply, created))
  }
