import type { ImportRow, NewLead, Visitor } from '@leadwire/contracts'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { type TObject, Type } from '@sinclair/typebox'
import type { Body, Checked } from '../validation/checker'
import { addErrors } from '../validation/errors'
import { nullable } from '../validation/fields'
import { labelOf } from '../validation/messages'
import { newVisitorLead, type VisitorFields, VisitorLead } from './visitor-lead'

const PROPERTIES = VisitorLead.properties
const REQUIRED = VisitorLead.required as (keyof VisitorFields)[]

const { external_id, ...fields } = Object.fromEntries(
  Object.entries(PROPERTIES).map(([name, field]) => [
    name,
    Type.Optional((REQUIRED as string[]).includes(name) ? field : nullable(field)),
  ]),
)

/** A lead that is changed, if it is there: what is absent stays as it is, and null clears. */
export const UpsertLead: TObject = Type.Object(fields, {
  title: 'UpsertLeadRequest',
  description:
    'A new lead needs what POST /manage/leads needs. Of a lead that is there what is absent stays, null clears, quotes are replaced as a whole, and attributes are merged: one that is null is removed.',
})

/** The same with the external id, without which the lead is a new one. */
export const LeadRow: TObject = Type.Object({ external_id: external_id!, ...fields }, { title: 'LeadRow' })

export type CheckRow = (body: Body) => Checked<unknown>

type Row = { lead: NewLead; errors?: undefined } | { errors: FieldErrors; fields: Record<string, unknown> }

const withoutNulls = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

const BLANK = Object.fromEntries(REQUIRED.map((name) => [name, '']))

/** The lead of a row that `check` checks by LeadRow, or all errors with the fields as they are. */
export const leadOfRow = (check: CheckRow, visitor: Visitor, body: Body): Row => {
  const checked = check(body)
  const fields = withoutNulls(checked.errors ? checked.fields : (checked.value as object)) as VisitorFields
  const isUpsert = fields.external_id !== undefined
  // What a test token makes is a test lead, also with `test: false`, which leaves a lead that is there as it is.
  const isKept = (name: string) => name === 'test' && visitor.test && !fields.test
  const given = Object.keys(body.fields).filter((name) => Object.hasOwn(PROPERTIES, name) && !isKept(name))
  const missing = REQUIRED.filter(
    (name) => fields[name] === undefined && (!isUpsert || given.includes(name)),
  ).map((name) => [name, [`The ${labelOf(name)} field is required.`]])
  if (checked.errors || missing.length > 0)
    return { errors: addErrors(checked.errors ?? {}, Object.fromEntries(missing)), fields }
  const lead = newVisitorLead(visitor, { ...BLANK, ...fields }, body)
  return { lead: { ...lead, upsert: isUpsert ? { given, ifMatch: undefined } : undefined } }
}

/** How many fields of a refused row are kept. */
const MAX_ERRORS = 20

const refused = (errors: FieldErrors): ImportRow => {
  const kept = Object.fromEntries(Object.entries(errors).slice(0, MAX_ERRORS))
  return { row: { $case: 'faults', value: JSON.stringify(kept) } }
}

/** A row as leads-service writes it: its lead, or its errors. `read` throws what is wrong with it as a whole. */
export const importRow = (check: CheckRow, visitor: Visitor, read: () => Body): ImportRow => {
  try {
    const row = leadOfRow(check, visitor, read())
    return row.errors ? refused(row.errors) : { row: { $case: 'lead', value: row.lead } }
  } catch (error) {
    if (error instanceof ServiceError) return refused({ row: [error.detail] })
    throw error
  }
}
