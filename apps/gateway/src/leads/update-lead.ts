import { LEAD_STATUSES, Lead } from '@leadwire/contracts'
import { describe, enumeration, leadValue, text } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { findLead } from '../api/find-lead'
import { operation } from '../api/operation'
import { namedPartial, recordResponse } from '../api/schemas'
import { readIfMatch, tagged } from '../http/entity-tags'

const UpdateLead = namedPartial('UpdateLeadRequest', {
  value: leadValue,
  status: enumeration(LEAD_STATUSES, 'Status of the lead.', 'sold'),
  user_email: text('Email address of the user to assign.', undefined, { format: 'email' }),
  notify: Type.Boolean(describe('Whether to notify the assigned user. Default false.', true)),
})

/** Implements the lead API, section Update Lead. */
export const updateLead = operation({
  route: 'PATCH /leads/:reference',
  tag: 'Leads',
  summary: 'Update a lead',
  description:
    'Updates the fields in the request. Omitted fields keep their values. `{}` changes nothing. With If-Match, the update applies only if the current ETag matches; otherwise the response is 412.',
  etag: 'change',
  body: UpdateLead,
  problems: ['method-not-allowed', 'lead-erased'],
  answer: recordResponse(Lead, 'The updated lead.'),
  handler: async (call) => {
    const { request, leadKey, clients, limits } = call
    const ifMatch = readIfMatch(request)
    const key = leadKey()
    const given = await call.valid(() => findLead(call))
    const { user_email: userEmail, notify = false, ...changes } = given
    const asked = { ...key, ...changes, userEmail, notify, ifMatch }
    const { body, etag } = await clients.leads.updateLead(asked, limits)
    return tagged(call.reply, etag, body)
  },
})
