import { addErrors, type UncheckedFields } from '@leadwire/requests'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { findLead } from '../api/find-lead'
import { operation } from '../api/operation'
import { recordResponse } from '../api/schemas'
import { readBody } from '../body/parse-body'
import { readIfMatch, tagged } from '../http/entity-tags'
import { readTraceparent, readVisitor } from './create-lead'
import { readLeadRow, UpdateManagedLead } from './lead-rows'
import { ManagedLead } from './managed-lead'

// An ignored `test` would leave a live lead that the client takes for a test lead.
const listTestErrors = (fields: UncheckedFields): FieldErrors =>
  Object.hasOwn(fields, 'test') ? { test: ['The test field cannot be changed. Leave it out.'] } : {}

export const updateManagedLead = operation({
  route: 'PATCH /manage/leads/:reference',
  summary: 'Update any field of a lead',
  description:
    'Updates the fields in the request, and sends `lead.updated`. All fields of POST /manage/leads can be updated, except `test`. `"user_id": null` unassigns the lead. `{}` changes nothing. With If-Match, the update applies only if the current ETag matches; otherwise the response is 412.',
  etag: 'change',
  body: UpdateManagedLead,
  problems: ['lead-erased'],
  answer: recordResponse(ManagedLead, 'The updated lead.'),
  handler: async (call) => {
    const { request, reply, clients, limits } = call
    const key = call.leadKey()
    const ifMatch = readIfMatch(request)
    const given = readBody(request)
    const errors = addErrors(given.errors, listTestErrors(given.fields))
    const row = readLeadRow(call.check, readVisitor(request), { ...given, errors }, { changes: true })
    if (row.errors) {
      await findLead(call)
      throw ServiceError.invalid(row.errors)
    }
    const lead = { ...row.lead, upsert: { ...row.lead.upsert!, ifMatch } }
    const asked = { ...key, lead, traceparent: readTraceparent(request) }
    const { body, etag } = await clients.leads.updateManagedLead(asked, limits)
    return tagged(reply, etag, body)
  },
})
