import { LEAD_STATUSES, Lead } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { dataOf, namedPartial } from '../api/schemas'
import { ifMatchOf, tagged } from '../http/entity-tags'
import { describe, oneOf, text } from '../validation/fields'
import { leadValue } from './lead-fields'

const UpdateLead = namedPartial('UpdateLeadRequest', {
  value: leadValue,
  status: oneOf(LEAD_STATUSES, 'Status of the lead.', 'sold'),
  user_email: text('Email address of the user to assign.', undefined, { format: 'email' }),
  notify: Type.Boolean(describe('Whether to notify the assigned user.', true)),
})

/** Interface: Update Lead. */
export const updateLead = operation({
  route: 'PATCH /leads/:reference',
  tag: 'Leads',
  summary: 'Update a lead',
  description:
    'Changes what is given and leaves the rest. `{}` changes nothing. With If-Match nothing is changed unless the lead still has this ETag.',
  etag: 'change',
  body: UpdateLead,
  problems: ['method-not-allowed', 'lead-erased'],
  answer: dataOf(Lead, 'The lead as it is now.'),
  handler: async (call) => {
    const { request, leadKey, clients, limits } = call
    const ifMatch = ifMatchOf(request)
    const key = leadKey()
    const given = await call.valid((fields) => referenceErrors(call, { userEmail: fields['user_email'] }))
    const { user_email: userEmail, notify = false, ...changes } = given
    const asked = { ...key, ...changes, userEmail, notify, ifMatch }
    const { body, etag } = await clients.leads.updateLead(asked, limits)
    return tagged(call.reply, etag, body)
  },
})
