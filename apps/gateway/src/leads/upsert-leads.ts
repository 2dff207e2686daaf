import { isInvisible, Lead } from '@leadwire/contracts'
import { addErrors, listTextErrors } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { readIdempotency, renderSaved } from '../api/call-limits'
import { buildExample } from '../api/describe-operation'
import { operation } from '../api/operation'
import { described, named } from '../api/schemas'
import { isObject, readBody } from '../body/parse-body'
import { readIfMatch, tagged } from '../http/entity-tags'
import { readTraceparent, readVisitor } from './create-lead'
import { importRow, LeadRow, readLeadRow, UpsertLead } from './lead-rows'
import { listElementSources } from './visitor-lead'

export const upsertLead = operation({
  route: 'PUT /manage/leads/external/:external_id',
  summary: 'Create or update a lead by external ID',
  description:
    'Creates a lead with this external ID and sends `lead.created`, or updates the lead with this ID and sends `lead.updated`. A request that changes nothing sends no event. Concurrent requests with the same ID create only one lead. Erasing a lead frees its ID. With If-Match, the request applies only if the current ETag matches, or with `*` only if the lead exists. Otherwise the response is 412.',
  etag: 'change',
  params: Type.Object({
    external_id: Type.String({
      minLength: 1,
      maxLength: 255,
      description: 'Your own ID for the lead.',
      examples: ['crm-1017'],
    }),
  }),
  body: UpsertLead,
  checks: LeadRow,
  answer: {
    description: 'The created or updated lead.',
    schema: named('UpsertLeadResponse', {
      data: Lead,
      created: Type.Boolean({ description: 'Whether the request created the lead.', examples: [true] }),
    }),
  },
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const { external_id } = request.params as { external_id: string }
    if (isInvisible(external_id))
      throw ServiceError.invalid({ external_id: ['The external id field is required.'] })
    const ifMatch = readIfMatch(request)
    const body = readBody(request)
    const fields = { ...body.fields, external_id }
    const errors = addErrors(body.errors, listTextErrors({ external_id }))
    const row = readLeadRow(call.check, readVisitor(request), { ...body, fields, errors })
    if (row.errors) throw ServiceError.invalid(row.errors)
    const lead = { ...row.lead, upsert: { ...row.lead.upsert!, ifMatch } }
    const asked = { accountId, lead, idempotency: undefined, actor: limits.actor }
    const written = await clients.upsertLead({ ...asked, traceparent: readTraceparent(request) }, limits)
    const json = Buffer.from(written.body).toString()
    return tagged(reply, written.etag, `${json.slice(0, -1)},"created":${written.created === true}}`)
  },
})

const MAX_LEADS = 100

/** Returns the leads of a batch. Throws `invalid` unless `leads` is an array of 1 to 100 items. */
const requireRows = (leads: unknown): unknown[] => {
  const refuse = (message: string) => ServiceError.invalid({ leads: [message] })
  if (leads === undefined || leads === null) throw refuse('The leads field is required.')
  if (!Array.isArray(leads)) throw refuse('The leads must be an array.')
  if (leads.length === 0 || leads.length > MAX_LEADS)
    throw refuse(`The leads must have 1 to ${MAX_LEADS} items.`)
  return leads
}

export const createLeadBatch = operation({
  route: 'POST /manage/leads/batch',
  summary: 'Create or update up to 100 leads',
  description:
    'Creates each lead like POST /manage/leads. A lead with an `external_id` is created or updated as with PUT /manage/leads/external. The response lists the errors of refused leads. All other leads are still written. Leads with the same `external_id` are written one after the other.',
  idempotent: true,
  jsonOnly: true,
  body: named('LeadBatchRequest', {
    leads: Type.Array(LeadRow, {
      minItems: 1,
      maxItems: MAX_LEADS,
      description:
        'The leads. A lead without an `external_id` needs the required fields of POST /manage/leads.',
      examples: [[{ external_id: 'crm-1017', ...buildExample(LeadRow) }]],
    }),
  }),
  checks: LeadRow,
  answer: {
    description: 'The outcome of each lead, in the order of the request.',
    schema: named('LeadBatchResponse', {
      data: Type.Array(
        described('LeadBatchOutcome', 'Either the written lead or its errors.', {
          data: Type.Optional(Lead),
          errors: Type.Optional(
            Type.Record(Type.String(), Type.Array(Type.String()), {
              description: 'Error messages of each invalid field, as in the `errors` of a problem.',
              examples: [{ email: ['The email must be a valid email address.'] }],
            }),
          ),
        }),
      ),
    }),
  },
  handler: async (call) => {
    const { request, reply, accountId, clients, limits } = call
    const { fields, json, form, errors } = readBody(request)
    const idempotency = readIdempotency(request, fields)
    const others = Object.entries(errors).filter(([name]) => !/^leads\.\d/.test(name))
    if (others.length > 0) throw ServiceError.invalid(Object.fromEntries(others))
    const leads = requireRows(fields['leads'])
    const sources = json === undefined ? [] : listElementSources(json, 'leads')
    const visitor = readVisitor(request)
    const rows = leads.map((given, index) =>
      importRow(call.check, visitor, () => {
        if (!isObject(given)) throw new ServiceError('invalid', 'The lead must be an object.')
        const source = sources[index]
        return {
          fields: given,
          ...(form && { form }),
          ...(source !== undefined && { json: source }),
          errors: listTextErrors(given),
        }
      }),
    )
    const asked = { accountId, rows, idempotency, traceparent: readTraceparent(request) }
    return renderSaved(reply, await clients.imports.writeLeadBatch(asked, limits))
  },
})
