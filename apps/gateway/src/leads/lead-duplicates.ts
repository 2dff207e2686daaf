import { ManagedLead } from '@leadwire/contracts'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { dataOf, described, leadReferenceSchema, listOf, named } from '../api/schemas'
import { tagged } from '../http/entity-tags'
import { describe, nullable, oneOf } from '../validation/fields'

export const LeadSuspect = described('LeadSuspect', 'A lead that may be of the same person.', {
  reference: leadReferenceSchema(),
  reasons: Type.Array(oneOf(['email', 'phone', 'name_postcode'], undefined, 'email'), {
    description: 'What both leads have in common.',
  }),
})

export const listLeadDuplicates = operation({
  route: 'GET /manage/leads/:reference/duplicates',
  summary: "List a lead's suspected duplicates",
  description:
    'Leads whose customer has the same e-mail address, the same telephone number, or the same name and postcode, and that were created at most `DUPLICATE_WINDOW` (90 days) before or after this one: the newest 20, newest first. A new lead is found within seconds, an erased one never.',
  answer: listOf(LeadSuspect, 'The leads, newest first.'),
  handler: async ({ leadKey, clients, limits }) =>
    (await clients.leads.listLeadDuplicates(leadKey(), limits)).suspects,
})

const LeadDuplicate = named('MarkLeadDuplicateRequest', {
  reference: nullable(
    Type.String({
      format: 'uuid',
      ...describe('Reference of the lead that it is a duplicate of; null: it is none.', null),
    }),
  ),
})

export const markLeadDuplicate = operation({
  route: 'POST /manage/leads/:reference/duplicate-of',
  summary: 'Mark a lead as a duplicate',
  description:
    'Sets the status `duplicate` and links the lead to another, which may not be a duplicate itself. With null the link goes, and the status is again what it was, unless it was changed meanwhile.',
  etag: 'new',
  body: LeadDuplicate,
  problems: ['lead-erased'],
  answer: dataOf(ManagedLead, 'The lead as it is now.'),
  handler: async (call) => {
    const { leadKey, valid, reply, clients, limits } = call
    const key = leadKey()
    const { reference: original } = await valid(() => referenceErrors(call))
    const asked = { ...key, original: original ?? undefined }
    const { body, etag } = await clients.leads.markLeadDuplicate(asked, limits)
    return tagged(reply, etag, body)
  },
})
