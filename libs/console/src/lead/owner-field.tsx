import { api } from '../api'
import { Field, type FieldErrors, Options } from '../parts/form'
import type { User } from '../users'
import { Editable } from './editable'
import { nameOwner } from './lead-values'
import type { LeadState, ManagedLead } from './load-lead'
import type { LeadPage } from './use-lead'

const NAMES = ['user_id', 'user_email', 'notify']

const listOptions = (users: User[], { user }: ManagedLead): [string, string][] => {
  const isMissing = user && !users.some(({ id }) => id === user.id)
  const shown = isMissing ? [user, ...users] : users
  return [['', 'Unassigned'], ...shown.map(({ id, name }): [string, string] => [String(id), name])]
}

/** The assigned user. Without the list of users, the new user is given by e-mail address. */
export const OwnerField = ({ page }: { page: LeadPage }) => {
  const { users } = page.shown
  const renderInputs = (lead: ManagedLead, errors: FieldErrors) => (
    <>
      {users ? (
        <Field name="user_id" label="Owner" errors={errors}>
          {(attributes) => (
            <select {...attributes}>
              <Options options={listOptions(users, lead)} chosen={lead.user && String(lead.user.id)} />
            </select>
          )}
        </Field>
      ) : (
        <Field name="user_email" label="Owner (e-mail)" errors={errors}>
          {(attributes) => <input type="email" defaultValue={lead.user?.email ?? ''} {...attributes} />}
        </Field>
      )}
      {page.mayBook && (
        <label class="box">
          <input type="checkbox" name="notify" /> Notify the owner by e-mail
        </label>
      )}
    </>
  )
  const save = async (fields: FormData, state: LeadState) => {
    const id = Number(fields.get('user_id')) || null
    const email = users ? users.find((user) => user.id === id)?.email : String(fields.get('user_email'))
    if (!email || (users && !fields.has('notify'))) return page.update(state, { user_id: id })
    // Only Update Lead sends a notification.
    return page.changeFrom(state, async (etag) => {
      const params = { path: { reference: page.lead.reference }, header: { 'If-Match': etag } }
      const body = { user_email: email, notify: fields.has('notify') }
      return (await api().PATCH('/leads/{reference}', { params, body })).response
    })
  }
  return (
    <Editable page={page} label="Owner" names={NAMES} renderInputs={renderInputs} save={save}>
      {nameOwner(page.lead)}
    </Editable>
  )
}
