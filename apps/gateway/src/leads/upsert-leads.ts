import { isInvisible, Lead } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { exampleOf } from '../api/describe-operation'
import { idempotencyOf, replayable } from '../api/idempotency'
import { operation } from '../api/operation'
import { referenceErrors } from '../api/reference-errors'
import { described, named } from '../api/schemas'
import { bodyOf, isObject } from '../body/body'
import { ifMatchOf, tagged } from '../http/entity-tags'
import { addErrors } from '../validation/errors'
import { textErrors } from '../validation/text-errors'
import { traceparentOf } from './create-lead'
import { visitorOf } from './lead-fields'
import { importRow, LeadRow, leadOfRow, UpsertLead } from './lead-rows'
import { elementTexts, imagesOf } from './visitor-lead'

export const upsertLead = operation({
  route: 'PUT /manage/leads/external/:external_id',
  summary: 'Create or change a lead by your own id',
  description:
    'Creates a lead with this external id and sends Lead Created, or changes the lead that has it and sends `lead.updated`. What changes nothing sends nothing. Requests with one id at once make one lead. The erasure of a lead frees its id. With If-Match nothing is written unless the lead has this ETag; `*`: unless there is one.',
  etag: 'change',
  params: Type.Object({
    external_id: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Your own id.',
      examples: ['crm-1017'],
    }),
  }),
  body: UpsertLead,
  checks: LeadRow,
  answer: {
    description: 'The lead as it is now.',
    schema: named('UpsertLeadResponse', {
      data: Lead,
      created: Type.Boolean({ description: 'Whether it is a new one.', examples: [true] }),
    }),
  },
  isBatched: true,
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const { external_id } = request.params as { external_id: string }
    if (isInvisible(external_id))
      throw ServiceError.invalid({ external_id: ['The external id field is required.'] })
    const ifMatch = ifMatchOf(request)
    const body = bodyOf(request)
    const fields = { ...body.fields, external_id }
    const errors = addErrors(body.errors, textErrors({ external_id }))
    const row = leadOfRow(call.check, visitorOf(request), { ...body, fields, errors })
    if (row.errors) {
      const references = { userId: row.fields['user_id'], images: imagesOf(row.fields) }
      throw ServiceError.invalid(addErrors(row.errors, await referenceErrors(call, references)))
    }
    const lead = { ...row.lead, upsert: { ...row.lead.upsert!, ifMatch } }
    const asked = { accountId, lead, idempotency: undefined, actor: limits.actor }
    const written = await clients.createLead({ ...asked, traceparent: traceparentOf(request) }, limits)
    const json = Buffer.from(written.body).toString()
    return tagged(reply, written.etag, `${json.slice(0, -1)},"created":${written.created === true}}`)
  },
})

const MAX_LEADS = 100

/** Throws invalid. */
const rowsOf = (leads: unknown): unknown[] => {
  const message =
    leads === undefined || leads === null
      ? 'The leads field is required.'
      : !Array.isArray(leads)
        ? 'The leads must be an array.'
        : leads.length === 0 || leads.length > MAX_LEADS
          ? `The leads must have 1 to ${MAX_LEADS} items.`
          : undefined
  if (message !== undefined) throw ServiceError.invalid({ leads: [message] })
  return leads as unknown[]
}

export const createLeadBatch = operation({
  route: 'POST /manage/leads/batch',
  summary: 'Create or change up to 100 leads',
  description:
    'Each is created as POST /manage/leads does, or with an `external_id` created or changed as PUT /manage/leads/external does. A lead that is refused has its errors in the answer, and the others are written all the same. Leads with one `external_id` are written one after the other.',
  idempotent: true,
  jsonOnly: true,
  body: named('LeadBatchRequest', {
    leads: Type.Array(LeadRow, {
      minItems: 1,
      maxItems: MAX_LEADS,
      description: 'A lead without an `external_id` needs what POST /manage/leads needs.',
      examples: [[{ external_id: 'crm-1017', ...exampleOf(LeadRow) }]],
    }),
  }),
  checks: LeadRow,
  answer: {
    description: 'The outcome of each lead, in their order.',
    schema: named('LeadBatchResponse', {
      data: Type.Array(
        described('LeadBatchOutcome', 'Either the lead as it is now, or its errors.', {
          data: Type.Optional(Lead),
          errors: Type.Optional(
            Type.Record(Type.String(), Type.Array(Type.String()), {
              description: 'Invalid fields, as in the `errors` of a problem.',
              examples: [{ email: ['The email must be a valid email address.'] }],
            }),
          ),
        }),
      ),
    }),
  },
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const { fields, json, form, errors } = bodyOf(request)
    const idempotency = idempotencyOf(request, fields)
    const others = Object.entries(errors).filter(([name]) => !/^leads\.\d/.test(name))
    if (others.length > 0) throw ServiceError.invalid(Object.fromEntries(others))
    const leads = rowsOf(fields['leads'])
    const sources = json === undefined ? [] : elementTexts(json, 'leads')
    const visitor = visitorOf(request)
    const rows = leads.map((given, index) =>
      importRow(call.check, visitor, () => {
        if (!isObject(given)) throw new ServiceError('invalid', 'The lead must be an object.')
        const source = sources[index]
        return {
          fields: given,
          ...(form && { form }),
          ...(source !== undefined && { json: source }),
          errors: textErrors(given),
        }
      }),
    )
    const asked = { accountId, rows, idempotency, traceparent: traceparentOf(request) }
    return replayable(reply, await clients.imports.writeLeadBatch(asked, limits))
  },
})
