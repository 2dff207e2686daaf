import { formatPounds, STATUS_LABELS, type Status } from '../leads'
import { formatUkInstant } from '../parts/format'
import { type AssignedUser, describeAssigned, type User } from '../users'
import { nameUser } from './lead-values'
import type { HistoryEntry } from './load-lead'

type Change = HistoryEntry['changes'][number]

type Label = { name: string; describeValue: (value: unknown, users: User[] | undefined) => string }

/** An appointment or a callback, as a change shows it. */
type ShownEntry = { date?: string; user_id?: number; done_at?: string | null }

const labelEntry = (name: string): Label => ({
  name,
  describeValue: (value, users) => {
    const { date, user_id: user, done_at: doneAt } = (value ?? {}) as ShownEntry
    if (date === undefined) return 'cancelled'
    const shown = `${formatUkInstant(date)}, ${nameUser(users, user!)}`
    return doneAt ? `${shown}, done` : shown
  },
})

const LABELS: Partial<Record<Change['field'], Label>> = {
  name: { name: 'Job', describeValue: String },
  phone: { name: 'Telephone', describeValue: String },
  email: { name: 'E-mail', describeValue: String },
  status: { name: 'Status', describeValue: (value) => STATUS_LABELS[value as Status] },
  value: { name: 'Value', describeValue: (value) => formatPounds(value as number) },
  user: {
    name: 'Owner',
    describeValue: (value, users) => describeAssigned(value as AssignedUser | null, users),
  },
  appointment: labelEntry('Appointment'),
  callback: labelEntry('Callback'),
}

const findLabel = (field: Change['field']): Label => {
  const name = field[0]!.toUpperCase() + field.slice(1).replaceAll('_', ' ')
  return LABELS[field] ?? { name, describeValue: String }
}

// The API stores no values of personal fields, and an erasure removes the values of all other fields.
const hasNoValues = ({ from, to }: Change) => from === null && to === null

/** Describes a change, such as "Status: Open → Sold", or "E-mail changed" for a personal field. */
export const describeChange = (change: Change, users: User[] | undefined): string => {
  const { name, describeValue } = findLabel(change.field)
  if (hasNoValues(change)) return `${name} changed`
  return `${name}: ${describeValue(change.from, users)} → ${describeValue(change.to, users)}`
}
