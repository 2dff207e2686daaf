import { LEAD_STATUSES } from '@leadwire/contracts'
import { enumeration, id, nullable, optional } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { described, leadReferenceSchema, named } from '../api/schemas'
import { readTraceparent, readVisitor } from './create-lead'
import { toLeadChange } from './lead-rows'
import { VisitorLeadBody } from './visitor-lead'

const MAX_REFERENCES = 100

const { attributes } = VisitorLeadBody.properties

// An ignored key would leave the leads without a change that the client believes made.
const LeadBulkChange = Type.Object(
  optional({
    status: enumeration(LEAD_STATUSES, 'The new status.', 'lost'),
    user_id: nullable(id('The ID of the user to assign. null unassigns the leads.')),
    attributes: {
      ...attributes,
      description: 'Attributes to set. Each is merged with the stored attributes; null removes an attribute.',
    },
  }),
  {
    title: 'LeadBulkChange',
    additionalProperties: false,
    minProperties: 1,
    examples: [{ status: 'lost', user_id: null }],
  },
)

const UpdateLeadsInBulk = named('UpdateLeadsInBulkRequest', {
  references: Type.Array(leadReferenceSchema(), {
    minItems: 1,
    maxItems: MAX_REFERENCES,
    description: 'The references of the leads. A repeated reference has a result each time.',
    examples: [['0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10']],
  }),
  set: LeadBulkChange,
})

export const updateLeadsInBulk = operation({
  route: 'POST /manage/leads/bulk',
  summary: 'Update up to 100 leads',
  description:
    'Sets the same status, user or attributes of several leads. Each changed lead sends `lead.updated`. The response lists the errors of leads that were not updated. All other leads are still updated. The leads are updated one after the other, so a request that fails may have updated some of them. Repeat such a request: leads that have the values already do not change again.',
  jsonOnly: true,
  body: UpdateLeadsInBulk,
  answer: {
    description: 'The outcome of each lead, in the order of the request.',
    schema: named('UpdateLeadsInBulkResponse', {
      data: Type.Array(
        described('LeadBulkOutcome', 'Has either `updated` or `errors`.', {
          reference: leadReferenceSchema(),
          updated: Type.Optional(
            Type.Boolean({
              description: 'Whether the lead has changed. false if it had the values already.',
              examples: [true],
            }),
          ),
          errors: Type.Optional(
            Type.Record(Type.String(), Type.Array(Type.String()), {
              description: 'Error messages of each invalid field, as in the `errors` of a problem.',
              examples: [{ reference: ['There is no lead with this reference.'] }],
            }),
          ),
        }),
      ),
    }),
  },
  handler: async (call) => {
    const { request, accountId, clients, limits } = call
    const { references, set } = await call.valid()
    const asked = {
      accountId,
      references: references.map((reference) => reference.toLowerCase()),
      lead: toLeadChange(readVisitor(request), set),
      traceparent: readTraceparent(request),
    }
    return (await clients.leads.updateLeadsInBulk(asked, limits)).body
  },
})
