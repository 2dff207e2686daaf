import { LEAD_STATUSES } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { leadReference } from '../api/lead-reference'
import { operation } from '../api/operation'
import { refusal } from '../api/reference-errors'
import { dataOf, LeadParams } from '../api/schemas'
import { demandedTags, tagged } from '../http/entity-tags'
import { notes, oneOf, text } from '../validation/fields'
import { leadValue } from './lead-fields'
import { Lead } from './lead-schema'

const UpdateLead = Type.Partial(
  Type.Object({
    value: leadValue,
    status: oneOf(LEAD_STATUSES, 'Status of the lead.', 'sold'),
    user_email: text('Email address of the user to assign.', undefined, { format: 'email' }),
    notify: Type.Boolean(notes('Whether to notify the assigned user.', true)),
  }),
  { title: 'UpdateLeadRequest' },
)

/** PATCH /leads/:reference (interface: Update Lead). */
export const updateLead = operation({
  method: 'PATCH',
  url: '/leads/:reference',
  operationId: 'updateLead',
  tag: 'Leads',
  summary: 'Update a lead',
  description:
    'Changes what is given and leaves the rest. `{}` changes nothing. With If-Match nothing is changed unless the lead still has this ETag.',
  scope: 'leads',
  params: LeadParams,
  etag: 'change',
  body: UpdateLead,
  problems: ['method-not-allowed', 'lead-erased'],
  answer: { description: 'The lead as it is now.', schema: dataOf(Lead) },
  handler: async (call) => {
    const { request, accountId, clients, limits } = call
    const ifMatch = demandedTags(request)
    const reference = leadReference(request)
    const { value, faults, fields } = call.check()
    if (faults) {
      throw await refusal(call, faults, { leadReference: reference, userEmail: fields['user_email'] })
    }
    const { user_email: userEmail, notify = false, ...changes } = value
    const { body, etag } = await clients.leads.updateLead(
      { accountId, reference, ...changes, userEmail, notify, ifMatch },
      limits,
    )
    return tagged(call.reply, etag, body)
  },
})
