import { useState } from 'preact/hooks'
import { Problem } from '../api'
import { Field, type FieldErrors, Options } from '../parts/form'
import { formatUkField, isPastUkField } from '../parts/format'
import { me } from '../session'
import type { User } from '../users'
import { nameUser } from './lead-values'
import type { Scheduled } from './load-lead'
import type { LeadPage } from './use-lead'

export const ENTRY_NAMES = ['date', 'user_id', 'notify', 'remind']

export const Notify = () => (
  <label class="box">
    <input type="checkbox" name="notify" defaultChecked /> Notify the user
  </label>
)

const Remind = ({ entry }: { entry: Scheduled | undefined }) => (
  <label class="box">
    <input type="checkbox" name="remind" defaultChecked={entry?.remind} /> Remind the user by e-mail
  </label>
)

const listOptions = (users: User[], chosen: number | undefined): [string, string][] => {
  const isMissing = chosen !== undefined && !users.some(({ id }) => id === chosen)
  const others = isMissing ? [{ id: chosen, name: nameUser(undefined, chosen) }] : []
  return [...others, ...users].map(({ id, name }) => [String(id), name])
}

/** Returns the user whom a new entry suggests: the owner of the lead, or else the signed-in user. */
const suggestUser = ({ lead }: LeadPage): number | undefined =>
  lead.user?.id ?? (me.value?.type === 'user' ? me.value.id : undefined)

interface EntryFieldsProps {
  page: LeadPage
  /** The entry that is moved. Absent for a new entry. */
  entry?: Scheduled | undefined
  errors: FieldErrors
  onDate: () => void
}

const EntryFields = ({ page, entry, errors, onDate }: EntryFieldsProps) => {
  const { users } = page.shown
  const chosen = entry ? entry.user_id : suggestUser(page)
  const given = chosen === undefined ? undefined : String(chosen)
  return (
    <>
      <Field name="date" label="Date and time in the United Kingdom" errors={errors}>
        {(attributes) => (
          <input
            type="datetime-local"
            required
            defaultValue={entry && formatUkField(entry.date)}
            onInput={onDate}
            {...attributes}
          />
        )}
      </Field>
      <Field name="user_id" label={users ? 'User' : 'User ID'} errors={errors}>
        {(attributes) =>
          users ? (
            <select required {...attributes}>
              <Options options={listOptions(users, entry?.user_id)} chosen={given ?? null} />
            </select>
          ) : (
            <input inputMode="numeric" required defaultValue={given} {...attributes} />
          )
        }
      </Field>
      <Notify />
      <Remind entry={entry} />
    </>
  )
}

interface EntryQuestion {
  page: LeadPage
  entry?: Scheduled
  title: string
  /** The label of the button that confirms a future date, and of the button that confirms a past date. */
  yes: [future: string, past: string]
}

/**
 * Returns the dialog for the date of an appointment or a callback, and `readFields`, which reads its fields.
 * `readFields` throws a problem at the date the first time that a past date is given, so that the user
 * confirms it.
 */
export const useEntryQuestion = ({ page, entry, title, yes }: EntryQuestion) => {
  const [past, setPast] = useState<string>()
  const confirmDate = (date: string) => {
    if (!isPastUkField(date) || date === past) return
    setPast(date)
    const error = `This time has passed. Choose another time, or press “${yes[1]}”.`
    throw new Problem(422, { errors: { date: [error] } })
  }
  const readFields = (fields: FormData) => {
    const date = String(fields.get('date'))
    confirmDate(date)
    return {
      date,
      userId: Number(fields.get('user_id')),
      notify: fields.has('notify'),
      remind: fields.has('remind'),
    }
  }
  const question = {
    title,
    yes: past ? yes[1] : yes[0],
    names: ENTRY_NAMES,
    content: (errors: FieldErrors) => (
      <EntryFields page={page} entry={entry} errors={errors} onDate={() => setPast(undefined)} />
    ),
  }
  return { question, readFields }
}
