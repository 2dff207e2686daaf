import type { NewLead, Visitor } from '@leadwire/contracts'
import { activeTraceparent, newTraceparent, parseTraceparent } from '@leadwire/service-kit'
import { idempotencyOf, replayable } from '../api/idempotency'
import type { Handler } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { bodyOf } from '../body/body'
import { tagged } from '../http/entity-tags'
import type { Body } from '../validation/checker'
import { visitorOf } from './lead-fields'
import { imagesOf } from './visitor-lead'

/** The handler of an operation that creates a lead. `newLead` makes it of the checked fields. */
export const leadCreation =
  <Fields>(newLead: (visitor: Visitor, fields: Fields, body: Body) => NewLead): Handler<Fields> =>
  async (call) => {
    const { request, accountId, clients, limits } = call
    const body = bodyOf(request)
    const idempotency = idempotencyOf(request, body.fields)
    const value = await call.valid((fields) =>
      referenceErrors(call, { userId: fields['user_id'], images: imagesOf(fields) }),
    )
    const traceparent =
      activeTraceparent() ?? parseTraceparent(request.headers['traceparent']) ?? newTraceparent()
    const lead = newLead(visitorOf(request), value, body)
    const created = await clients.createLead(
      { accountId, lead, idempotency, traceparent, actor: limits.actor },
      limits,
    )
    return tagged(call.reply, created.etag, replayable(call.reply, created))
  }
