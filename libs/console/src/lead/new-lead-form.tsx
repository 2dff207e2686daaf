import type { ComponentChildren } from 'preact'
import { useLocation } from 'wouter-preact'
import { leadsApi, type Schemas } from '../api'
import { REFERRER_OPTIONS, STATUS_LABELS } from '../leads'
import { Field, type FieldErrors, Options, useForm } from '../parts/form'
import { showNotice } from '../parts/notices'
import { useRequestKey } from '../parts/request-key'
import { me } from '../session'
import type { User } from '../users'
import { AttributeRows, readAttributes } from './attribute-rows'

type NewLead = Schemas['CreateVisitorLeadRequest']

interface Input {
  name: keyof NewLead
  label: string
  attributes?: object
  help?: string
}

const CUSTOMER: Input[] = [
  { name: 'first_name', label: 'First name', attributes: { required: true } },
  { name: 'last_name', label: 'Last name', attributes: { required: true } },
  { name: 'company_name', label: 'Company' },
  { name: 'email', label: 'E-mail', attributes: { type: 'email', required: true } },
  { name: 'phone', label: 'Telephone', attributes: { type: 'tel', required: true } },
  { name: 'mobile', label: 'Mobile', attributes: { type: 'tel' } },
  { name: 'postcode', label: 'Postcode', attributes: { required: true } },
]

const JOB: Input[] = [
  { name: 'name', label: 'Job', attributes: { required: true }, help: 'For example: Bay window, front' },
  { name: 'value', label: 'Value in pounds', attributes: { inputMode: 'numeric' } },
]

const SOURCE: Input[] = [
  { name: 'referrer_url', label: 'Page that the visitor came from', attributes: { type: 'url' } },
  { name: 'external_id', label: 'Your own ID of the lead' },
]

const INPUTS = [...CUSTOMER, ...JOB, ...SOURCE]

const NAMES = [
  ...INPUTS.map(({ name }) => name),
  'status',
  'description',
  'user_id',
  'referrer',
  'attributes',
]

const readText = (fields: FormData, name: string): string | undefined =>
  String(fields.get(name) ?? '').trim() || undefined

/** Reads the form. Sends texts as they are, so that the API returns the errors of all fields together. */
const readLead = (fields: FormData): NewLead => {
  const texts = [...INPUTS.map(({ name }) => name), 'status', 'description', 'user_id', 'referrer']
  const given = texts.map((name) => [name, readText(fields, name)])
  const body = { ...Object.fromEntries(given), attributes: readAttributes(fields) } as NewLead
  return fields.has('test') ? { ...body, test: true } : body
}

const Group = ({ title, children }: { title: string; children: ComponentChildren }) => (
  <fieldset class="group">
    <legend>{title}</legend>
    {children}
  </fieldset>
)

const Inputs = ({ inputs, errors }: { inputs: Input[]; errors: FieldErrors }) => (
  <div class="fields">
    {inputs.map(({ name, label, attributes, help }) => (
      <Field key={name} name={name} label={label} help={help} errors={errors}>
        {(given) => <input autocomplete="off" {...attributes} {...given} />}
      </Field>
    ))}
  </div>
)

interface SelectProps {
  name: keyof NewLead
  label: string
  options: [value: string, text: string][]
  chosen: string
  errors: FieldErrors
}

const Select = ({ name, label, options, chosen, errors }: SelectProps) => (
  <Field name={name} label={label} errors={errors}>
    {(attributes) => (
      <select {...attributes}>
        <Options options={options} chosen={chosen} />
      </select>
    )}
  </Field>
)

const listOwners = (users: User[]): [string, string][] => [
  ['', 'Unassigned'],
  ...users.map(({ id, name }): [string, string] => [String(id), name]),
]

const suggestOwner = (users: User[]): string => {
  const own = me.value?.type === 'user' ? me.value.id : undefined
  return users.some(({ id }) => id === own) ? String(own) : ''
}

/** A form that creates a lead, and then opens its page. `users` is absent if the user may not list users. */
export const NewLeadForm = ({ users }: { users: User[] | undefined }) => {
  const [, navigate] = useLocation()
  const findKey = useRequestKey()
  const create = async (fields: FormData) => {
    const body = readLead(fields)
    const { reference } = await leadsApi().createVisitorLead(body, { idempotencyKey: findKey(body) })
    showNotice('The lead was created.')
    navigate(`/leads/${reference}`)
  }
  const { onSubmit, errors, failure, isBusy } = useForm(create, NAMES)
  return (
    <form class="card padded narrow" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Group title="Customer">
        <Inputs inputs={CUSTOMER} errors={errors} />
      </Group>
      <Group title="Job">
        <Inputs inputs={JOB} errors={errors} />
        <div class="fields">
          <Select
            name="status"
            label="Status"
            options={Object.entries(STATUS_LABELS)}
            chosen="open"
            errors={errors}
          />
          {users && (
            <Select
              name="user_id"
              label="Owner"
              options={listOwners(users)}
              chosen={suggestOwner(users)}
              errors={errors}
            />
          )}
        </div>
        <Field name="description" label="Description" errors={errors}>
          {(attributes) => <textarea rows={3} {...attributes} />}
        </Field>
      </Group>
      <Group title="Source">
        <Select name="referrer" label="Referrer" options={REFERRER_OPTIONS} chosen="Phone" errors={errors} />
        <Inputs inputs={SOURCE} errors={errors} />
        <AttributeRows errors={errors} />
        <label class="box">
          <input type="checkbox" name="test" /> Test lead
        </label>
      </Group>
      {failure}
      <div class="actions">
        <button type="submit">Create</button>
      </div>
    </form>
  )
}
