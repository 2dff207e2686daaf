import { useState } from 'preact/hooks'
import { api } from '../api'
import { type Lead, STATUS_WORDS, type Status } from '../leads'
import { Field, Options, useForm } from '../parts/form'
import { say } from '../parts/notices'
import type { User } from '../users'
import type { ShownLead } from './load-lead'

const NAMES = ['status', 'value', 'user_email', 'notify']

const userOptions = (users: User[]): [string, string][] => [
  ['', 'No change'],
  ...users.map(({ email, name }): [string, string] => [email, `${name} (${email})`]),
]

/** Changes status, value and assigned user. Only what was changed is sent. */
export const ChangeLead = ({ shown, refresh }: { shown: ShownLead; refresh: () => Promise<void> }) => {
  const { managed } = shown
  // As it was when the reader began: what others change meanwhile neither undoes a choice nor is undone by it.
  const [begun, setBegun] = useState<Lead>()
  const lead = begun ?? shown.lead
  const unlessBegun = (value: string) => ({ value: begun ? undefined : value })
  const save = async (fields: FormData) => {
    const [status, value, email] = ['status', 'value', 'user_email'].map((name) => String(fields.get(name)))
    const body = {
      ...(status !== lead.status && { status: status as Status }),
      // Text that is no number is left to the API to refuse.
      ...(value !== String(lead.value) && { value: (value || 0) as number }),
      ...(email && { user_email: email }),
      ...(fields.has('notify') && { notify: true }),
    }
    await api().PATCH('/leads/{reference}', { params: { path: { reference: lead.reference } }, body })
    say('Saved.')
    await refresh()
    setBegun(undefined)
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, NAMES)
  return (
    <form
      class="card padded"
      aria-label="Change"
      aria-busy={isBusy}
      noValidate
      onSubmit={onSubmit}
      onInput={() => setBegun(lead)}
    >
      <div class="fields">
        <Field name="status" label="Status" errors={errors}>
          {(attributes) => (
            <select {...attributes} {...unlessBegun(lead.status)}>
              <Options options={Object.entries(STATUS_WORDS)} />
            </select>
          )}
        </Field>
        <Field name="value" label="Value in pounds" errors={errors}>
          {(attributes) => <input inputMode="numeric" {...attributes} {...unlessBegun(String(lead.value))} />}
        </Field>
        <Field name="user_email" label={managed ? 'Assign to' : 'Assign to (e-mail)'} errors={errors}>
          {(attributes) =>
            managed ? (
              <select {...attributes} {...unlessBegun('')}>
                <Options options={userOptions(managed.users)} />
              </select>
            ) : (
              <input type="email" {...attributes} {...unlessBegun('')} />
            )
          }
        </Field>
      </div>
      <label class="box">
        <input type="checkbox" name="notify" checked={begun ? undefined : false} /> Notify the assigned user
      </label>
      {failure}
      <div class="actions">
        <button type="submit">Save</button>
      </div>
    </form>
  )
}
