import type { ComponentChildren } from 'preact'
import { chooseTone, formatPounds, STATUS_LABELS } from '../leads'
import { Badge } from '../parts/badge'
import { Field, type FieldErrors, Options } from '../parts/form'
import { Editable } from './editable'
import type { LeadChanges, LeadState, ManagedLead } from './load-lead'
import { OwnerField } from './owner-field'
import type { LeadPage } from './use-lead'

interface TextInput {
  name: keyof LeadChanges
  label: string
  read: (lead: ManagedLead) => string | null
  attributes?: object
  /** Whether an empty input clears the field. */
  isOptional?: boolean
}

interface TextField {
  label: string
  inputs: TextInput[]
  show: (lead: ManagedLead) => ComponentChildren
}

const renderMailto = (email: string) => (
  <a href={`mailto:${encodeURIComponent(email).replaceAll('%40', '@')}`}>{email}</a>
)

const FIELDS: TextField[] = [
  {
    label: 'Customer',
    inputs: [
      { name: 'first_name', label: 'First name', read: ({ customer }) => customer.first_name },
      { name: 'last_name', label: 'Last name', read: ({ customer }) => customer.last_name },
      {
        name: 'company_name',
        label: 'Company',
        read: ({ customer }) => customer.company_name,
        isOptional: true,
      },
    ],
    show: ({ customer }) => [customer.name, customer.company_name].filter(Boolean).join(', '),
  },
  {
    label: 'Job',
    inputs: [{ name: 'name', label: 'Job', read: ({ name }) => name }],
    show: ({ name }) => name,
  },
  {
    label: 'Telephone',
    inputs: [
      {
        name: 'phone',
        label: 'Telephone',
        read: ({ customer }) => customer.phone,
        attributes: { type: 'tel' },
      },
      {
        name: 'mobile',
        label: 'Mobile',
        read: ({ customer }) => customer.mobile,
        attributes: { type: 'tel' },
        isOptional: true,
      },
    ],
    show: ({ customer: { phone, phone_link, mobile, mobile_link } }) => (
      <>
        <a href={phone_link}>{phone}</a>
        {mobile && (
          <a class="line" href={mobile_link ?? undefined}>
            {mobile}
          </a>
        )}
      </>
    ),
  },
  {
    label: 'E-mail',
    inputs: [
      {
        name: 'email',
        label: 'E-mail',
        read: ({ customer }) => customer.email,
        attributes: { type: 'email' },
      },
    ],
    show: ({ customer }) => renderMailto(customer.email),
  },
  {
    label: 'Value',
    inputs: [
      {
        name: 'value',
        label: 'Value in pounds',
        read: ({ value }) => String(value),
        attributes: { inputMode: 'numeric' },
        isOptional: true,
      },
    ],
    show: ({ value }) => formatPounds(value),
  },
  {
    label: 'Postcode',
    inputs: [{ name: 'postcode', label: 'Postcode', read: ({ postcode }) => postcode }],
    show: ({ postcode, customer: { address_1, address_2, city, county } }) =>
      [address_1, address_2, city, county, postcode].filter(Boolean).join(', '),
  },
]

const readInput = (fields: FormData, { name, isOptional }: TextInput) => {
  const text = String(fields.get(name)).trim()
  return text === '' && isOptional ? null : text
}

/** Returns the inputs that differ from a lead. Keeps invalid texts, so that the API explains their errors. */
const readChanges = (fields: FormData, inputs: TextInput[], lead: ManagedLead): LeadChanges => {
  const given = inputs.map((input) => [input.name, readInput(fields, input), input.read(lead)] as const)
  return Object.fromEntries(given.filter(([, now, before]) => now !== before))
}

const EditableText = ({ page, field }: { page: LeadPage; field: TextField }) => {
  const { label, inputs, show } = field
  const renderInputs = (lead: ManagedLead, errors: FieldErrors) =>
    inputs.map(({ name, label, read, attributes }) => (
      <Field key={name} name={name} label={label} errors={errors}>
        {(given) => <input autocomplete="off" defaultValue={read(lead) ?? ''} {...attributes} {...given} />}
      </Field>
    ))
  return (
    <Editable
      page={page}
      label={label}
      names={inputs.map(({ name }) => name)}
      renderInputs={renderInputs}
      save={(fields, state) => page.update(state, readChanges(fields, inputs, state.lead))}
    >
      {show(page.lead)}
    </Editable>
  )
}

const StatusField = ({ page }: { page: LeadPage }) => {
  const { lead } = page
  const save = (fields: FormData, state: LeadState) =>
    page.update(state, { status: fields.get('status') as ManagedLead['status'] })
  return (
    <Editable
      page={page}
      label="Status"
      names={['status']}
      renderInputs={({ status }, errors) => (
        <Field name="status" label="Status" errors={errors}>
          {(attributes) => (
            <select {...attributes}>
              <Options options={Object.entries(STATUS_LABELS)} chosen={status} />
            </select>
          )}
        </Field>
      )}
      save={save}
    >
      <Badge word={STATUS_LABELS[lead.status]} tone={chooseTone(lead.status)} />
    </Editable>
  )
}

const DescriptionField = ({ page }: { page: LeadPage }) => (
  <Editable
    page={page}
    label="Description"
    class="wide"
    names={['description']}
    renderInputs={({ description }, errors) => (
      <Field name="description" label="Description" errors={errors}>
        {(attributes) => <textarea rows={4} defaultValue={description ?? ''} {...attributes} />}
      </Field>
    )}
    save={(fields, state) => page.update(state, { description: String(fields.get('description')) || null })}
  >
    {page.lead.description ? (
      <span class="lines">{page.lead.description}</span>
    ) : (
      <span class="none">None</span>
    )}
  </Editable>
)

/** The fields of a lead that people work with. Each can be edited in place. */
export const LeadFields = ({ page }: { page: LeadPage }) => (
  <dl class="card lead-fields">
    {FIELDS.slice(0, 4).map((field) => (
      <EditableText key={field.label} page={page} field={field} />
    ))}
    <StatusField page={page} />
    {FIELDS.slice(4).map((field) => (
      <EditableText key={field.label} page={page} field={field} />
    ))}
    <OwnerField page={page} />
    <DescriptionField page={page} />
  </dl>
)
