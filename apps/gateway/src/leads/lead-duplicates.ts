import { describe, enumeration, nullable } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { findLead } from '../api/find-lead'
import { operation } from '../api/operation'
import { described, leadReferenceSchema, listResponse, named, recordResponse } from '../api/schemas'
import { tagged } from '../http/entity-tags'
import { ManagedLead } from './managed-lead'

export const LeadSuspect = described('LeadSuspect', 'A lead that may be from the same person.', {
  reference: leadReferenceSchema(),
  reasons: Type.Array(enumeration(['email', 'phone', 'name_postcode'], undefined, 'email'), {
    description: 'The data that both leads share.',
  }),
})

export const listLeadDuplicates = operation({
  route: 'GET /manage/leads/:reference/duplicates',
  summary: "List a lead's suspected duplicates",
  description:
    'Returns the leads whose customer has the same email address, telephone number, or name and postcode, and which were created within `DUPLICATE_WINDOW` (default 90 days) before or after this lead. Newest first, at most 20. A new lead appears within seconds. Erased leads never appear.',
  answer: listResponse(LeadSuspect, 'The suspected duplicates, newest first.'),
  handler: async ({ leadKey, clients, limits }) =>
    (await clients.leads.listLeadDuplicates(leadKey(), limits)).suspects,
})

const LeadDuplicate = named('MarkLeadDuplicateRequest', {
  reference: nullable(
    Type.String({
      format: 'uuid',
      ...describe('Reference of the original lead. null removes the link.', null),
    }),
  ),
})

export const markLeadDuplicate = operation({
  route: 'POST /manage/leads/:reference/duplicate-of',
  summary: 'Mark a lead as a duplicate',
  description:
    'Sets the status `duplicate` and links the lead to the original, which must not be a duplicate itself. With `"reference": null`, removes the link and restores the previous status, unless the status was changed in the meantime.',
  etag: 'new',
  body: LeadDuplicate,
  problems: ['lead-erased'],
  answer: recordResponse(ManagedLead, 'The updated lead.'),
  handler: async (call) => {
    const { leadKey, valid, reply, clients, limits } = call
    const key = leadKey()
    const { reference: original } = await valid(() => findLead(call))
    const asked = { ...key, original: original ?? undefined }
    const { body, etag } = await clients.leads.markLeadDuplicate(asked, limits)
    return tagged(reply, etag, body)
  },
})
