import type { ImportRow, NewLead, Visitor } from '@leadwire/contracts'
import {
  addErrors,
  type Body,
  type Checked,
  labelField,
  nullable,
  readPastInstant,
  text,
} from '@leadwire/requests'
import { type FieldErrors, ServiceError } from '@leadwire/service-kit'
import { type TObject, Type } from '@sinclair/typebox'
import { toVisitorLead, type VisitorFields, VisitorLeadBody } from './visitor-lead'

const PROPERTIES = VisitorLeadBody.properties
const REQUIRED = VisitorLeadBody.required as (keyof VisitorFields)[]

const { external_id, ...fields } = Object.fromEntries(
  Object.entries(PROPERTIES).map(([name, field]) => [
    name,
    Type.Optional((REQUIRED as string[]).includes(name) ? field : nullable(field)),
  ]),
)

/** The body of an upsert. If the lead exists, omitted fields keep their values, and null clears a field. */
export const UpsertLead: TObject = Type.Object(fields, {
  title: 'UpsertLeadRequest',
  description:
    'A new lead needs the required fields of POST /manage/leads. If the lead exists, omitted fields keep their values, null clears a field, and `quotes` are replaced. `attributes` are merged; null removes an attribute.',
})

/** The fields of an upsert, and the external id. A row without an external id creates a lead. */
export const LeadRow: TObject = Type.Object({ external_id: external_id!, ...fields }, { title: 'LeadRow' })

// The description of these fields in a new lead says that the sender of the request is the default.
const SENDER_FIELDS = {
  user_agent: { ...PROPERTIES.user_agent, description: "User-agent string of the visitor's browser." },
  ip: { ...PROPERTIES.ip, description: "The visitor's IP address." },
}

const { test: _test, ...changeable } = LeadRow.properties

/** The body of a change of a lead by its reference. The field `test` cannot be changed. */
export const UpdateManagedLead: TObject = Type.Object(
  { ...changeable, ...SENDER_FIELDS },
  {
    title: 'UpdateManagedLeadRequest',
    description:
      'Omitted fields keep their values, null clears a field, and `quotes` are replaced. `attributes` are merged; null removes an attribute.',
  },
)

/** The fields of a row of an import. `created_at` preserves the original time of a migrated lead. */
export const IMPORT_FIELDS = {
  ...PROPERTIES,
  created_at: text('When the lead was created. Default: now.', '2024-05-17T09:30:00Z', {
    format: 'past-time',
  }),
}

/** A row of an import. `created_at` is used only for a new lead. */
export const ImportedLead: TObject = Type.Object(
  { ...LeadRow.properties, created_at: Type.Optional(nullable(IMPORT_FIELDS.created_at)) },
  { title: 'ImportedLead' },
)

export type CheckRow = (body: Body) => Checked<unknown>

type Row = { fields: Record<string, unknown> } & (
  | { lead: NewLead; errors?: undefined }
  | { errors: FieldErrors }
)

const withoutNulls = (given: object): object =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

const BLANK = Object.fromEntries(REQUIRED.map((name) => [name, '']))

/** The fields that a change cannot clear. */
const UNCLEARABLE = [...REQUIRED, ...(Object.keys(SENDER_FIELDS) as (keyof VisitorFields)[])]

/**
 * Returns the lead of a row, or all errors and the unchecked fields. `check` must use the schema LeadRow or
 * ImportedLead. If the row `changes` a lead that exists, the schema must be UpdateManagedLead.
 */
export const readLeadRow = (
  check: CheckRow,
  visitor: Visitor,
  body: Body,
  { changes = false }: { changes?: boolean } = {},
): Row => {
  const checked = check(body)
  const fields = withoutNulls(checked.errors ? checked.fields : (checked.value as object)) as VisitorFields
  const isUpsert = changes || fields.external_id !== undefined
  // A test token creates only test leads. In an update with a test token, `test: false` is ignored, so that
  // the update does not turn a test lead into a live lead.
  const isKept = (name: string) => name === 'test' && visitor.test && !fields.test
  const given = Object.keys(body.fields).filter((name) => Object.hasOwn(PROPERTIES, name) && !isKept(name))
  const required = changes ? UNCLEARABLE : REQUIRED
  const missing = required
    .filter((name) => fields[name] === undefined && (!isUpsert || given.includes(name)))
    .map((name) => [name, [`The ${labelField(name)} field is required.`]])
  if (checked.errors || missing.length > 0)
    return { errors: addErrors(checked.errors ?? {}, Object.fromEntries(missing)), fields }
  const lead = toVisitorLead(visitor, { ...BLANK, ...fields }, body)
  return { fields, lead: { ...lead, upsert: isUpsert ? { given, ifMatch: undefined } : undefined } }
}

/** Converts checked fields to a change of exactly these fields. null clears a field. */
export const toLeadChange = (visitor: Visitor, fields: object): NewLead => {
  const values = withoutNulls(fields) as VisitorFields
  const lead = toVisitorLead(visitor, { ...BLANK, ...values }, { fields: {}, errors: {} })
  return { ...lead, upsert: { given: Object.keys(fields), ifMatch: undefined } }
}

/** The maximum number of invalid fields whose errors are stored for a refused row. */
const MAX_ERRORS = 20

const refused = (errors: FieldErrors): ImportRow => {
  const kept = Object.fromEntries(Object.entries(errors).slice(0, MAX_ERRORS))
  return { row: { $case: 'errors', value: JSON.stringify(kept) } }
}

/**
 * Converts a row to the form that leads-service stores: the lead of the row, or its errors. `read` parses the
 * row, and throws a ServiceError if the row is malformed. `timeZone` is the time zone of a `created_at`
 * without an offset.
 */
export const importRow = (
  check: CheckRow,
  visitor: Visitor,
  read: () => Body,
  timeZone = 'UTC',
): ImportRow => {
  try {
    const row = readLeadRow(check, visitor, read())
    if (row.errors) return refused(row.errors)
    const { created_at } = row.fields
    const createdAt = created_at === undefined ? undefined : readPastInstant(String(created_at), timeZone)
    return { row: { $case: 'lead', value: { ...row.lead, createdAt } } }
  } catch (error) {
    if (error instanceof ServiceError) return refused({ row: [error.detail] })
    throw error
  }
}
