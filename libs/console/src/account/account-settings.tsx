import { api, type Schemas } from '../api'
import { Field, useForm } from '../parts/form'
import { showNotice } from '../parts/notices'

type Account = Schemas['Account']

const NAMES = ['contact_email', 'appointment_due_minutes', 'callback_due_minutes']

const LATER = 'A change applies to those that are booked, moved or opened again afterwards.'

/** Reads a number of minutes. Sends any other text as it is, so that the API returns the error. */
const readMinutes = (fields: FormData, name: string): number => {
  const text = String(fields.get(name)).trim()
  return (/^\d+$/.test(text) ? Number(text) : text) as number
}

/** The form for the settings of the account: its contact, and when appointments and callbacks are due. */
export const AccountSettings = ({ account, refresh }: { account: Account; refresh: () => Promise<void> }) => {
  const save = async (fields: FormData) => {
    const body = {
      contact_email: String(fields.get('contact_email')),
      appointment_due_minutes: readMinutes(fields, 'appointment_due_minutes'),
      callback_due_minutes: readMinutes(fields, 'callback_due_minutes'),
    }
    await api().PATCH('/manage/account', { body })
    showNotice('Saved.')
    await refresh()
  }
  const { onSubmit, errors, failure, isBusy } = useForm(save, NAMES)
  return (
    <form class="card padded narrow" aria-busy={isBusy} noValidate onSubmit={onSubmit}>
      <Field
        name="contact_email"
        label="E-mail of the contact"
        errors={errors}
        help="Notified when all attempts of an endpoint have failed for 24 hours. Leave empty for no notifications."
      >
        {(attributes) => <input type="email" defaultValue={account.contact_email ?? ''} {...attributes} />}
      </Field>
      <Field
        name="appointment_due_minutes"
        label="Appointments are due this many minutes before their time"
        errors={errors}
        help={`Reminders and the webhook Appointment due are sent then. ${LATER}`}
      >
        {(attributes) => (
          <input inputMode="numeric" defaultValue={account.appointment_due_minutes} {...attributes} />
        )}
      </Field>
      <Field
        name="callback_due_minutes"
        label="Callbacks are due this many minutes before their time"
        errors={errors}
        help={`Reminders and the webhook Callback due are sent then. ${LATER}`}
      >
        {(attributes) => (
          <input inputMode="numeric" defaultValue={account.callback_due_minutes} {...attributes} />
        )}
      </Field>
      {failure}
      <div class="actions">
        <button type="submit">Save</button>
      </div>
    </form>
  )
}
