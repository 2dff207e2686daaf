import { useState } from 'preact/hooks'
import { api } from '../api'
import { type Lead, STATUS_LABELS, type Status } from '../leads'
import { Field, Options, useForm } from '../parts/form'
import { showNotice } from '../parts/notices'
import type { User } from '../users'
import type { ShownLead } from './load-lead'

const NAMES = ['status', 'value', 'user_email', 'notify']

const userOptions = (users: User[]): [string, string][] => [
  ['', 'No change'],
  ...users.map(({ email, name }): [string, string] => [email, `${name} (${email})`]),
]

/** A form for status, value and assigned user. It sends only changed fields. */
export const ChangeLead = ({ shown, refresh }: { shown: ShownLead; refresh: () => Promise<void> }) => {
  const { users } = shown
  // The lead as it was when the user began to edit. Only fields that differ from this lead are sent, so that
  // a save does not revert changes that others have made since. The fields also keep the user's input when
  // others change the lead.
  const [begun, setBegun] = useState<Lead>()
  const lead = begun ?? shown.lead
  const unlessBegun = (value: string) => ({ value: begun ? undefined : value })
  const save = async (fields: FormData) => {
    const [status, value, email] = ['status', 'value', 'user_email'].map((name) => String(fields.get(name)))
    const body = {
      ...(status !== lead.status && { status: status as Status }),
      // Sends invalid text as it is, so that the API returns the error.
      ...(value !== String(lead.value) && { value: (value || 0) as number }),
      ...(email && { user_email: email }),
      ...(fields.has('notify') && { notify: true }),
    }
    await api().PATCH('/leads/{reference}', { params: { path: { reference: lead.reference } }, body })
    showNotice('Saved.')
    await refresh()
    setBegun(undefined)
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, NAMES)
  return (
    <form
      class="card padded"
      aria-label="Change the lead"
      aria-busy={isBusy}
      noValidate
      onSubmit={onSubmit}
      onInput={() => setBegun(lead)}
    >
      <div class="fields">
        <Field name="status" label="Status" errors={errors}>
          {(attributes) => (
            <select {...attributes} {...unlessBegun(lead.status)}>
              <Options options={Object.entries(STATUS_LABELS)} />
            </select>
          )}
        </Field>
        <Field name="value" label="Value in pounds" errors={errors}>
          {(attributes) => <input inputMode="numeric" {...attributes} {...unlessBegun(String(lead.value))} />}
        </Field>
        <Field name="user_email" label={users ? 'Assign to' : 'Assign to (e-mail)'} errors={errors}>
          {(attributes) =>
            users ? (
              <select {...attributes} {...unlessBegun('')}>
                <Options options={userOptions(users)} />
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
