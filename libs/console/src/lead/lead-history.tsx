import { formatPounds, STATUS_LABELS, type Status } from '../leads'
import { formatUkInstant } from '../parts/format'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import { type AssignedUser, describeAssigned, nameActor } from '../users'
import type { HistoryEntry } from './load-lead'

type Change = HistoryEntry['changes'][number]

const ACTIONS: Record<HistoryEntry['action'], string> = {
  created: 'Created',
  updated: 'Updated',
  erased: 'Erased',
}

type Label = { name: string; describeValue: (value: unknown) => string }

/** An appointment or a callback, as a change shows it. */
type ShownEntry = { date?: string; user_id?: number; done_at?: string | null }

const scheduled = (name: string): Label => ({
  name,
  describeValue: (value) => {
    const { date, user_id: user, done_at: doneAt } = (value ?? {}) as ShownEntry
    if (date === undefined) return 'cancelled'
    const shown = `${formatUkInstant(date)}, user ${user}`
    return doneAt ? `${shown}, done` : shown
  },
})

const LABELS: Partial<Record<Change['field'], Label>> = {
  status: { name: 'Status', describeValue: (value) => STATUS_LABELS[value as Status] },
  value: { name: 'Value', describeValue: (value) => formatPounds(value as number) },
  user: {
    name: 'Assigned user',
    describeValue: (value) => describeAssigned(value as AssignedUser | null),
  },
  appointment: scheduled('Appointment'),
  callback: scheduled('Callback'),
  duplicate_of: { name: 'Duplicate of', describeValue: (value) => (value as string | null) ?? 'none' },
}

const findLabel = (field: Change['field']): Label => {
  const name = field[0]!.toUpperCase() + field.slice(1).replaceAll('_', ' ')
  return LABELS[field] ?? { name, describeValue: String }
}

// The API stores no values of personal fields, and an erasure removes the values of all other fields.
const hasNoValues = ({ from, to }: Change) => from === null && to === null

const describeChange = (change: Change) => {
  const { name, describeValue } = findLabel(change.field)
  return hasNoValues(change) ? name : `${name}: ${describeValue(change.from)} → ${describeValue(change.to)}`
}

const COLUMNS: Column<HistoryEntry>[] = [
  { name: 'Action', cell: ({ action }) => ACTIONS[action] },
  {
    name: 'Changes',
    cell: ({ changes }) =>
      changes.length === 0 ? (
        <span class="none">–</span>
      ) : (
        <span class="wrap">{changes.map(describeChange).join('; ')}</span>
      ),
  },
  {
    name: 'By',
    cell: ({ actor }) =>
      actor ? <span class="wrap">{nameActor(actor)}</span> : <span class="none">not recorded</span>,
  },
  { name: 'When', cell: ({ at }) => <Exactly at={at} /> },
]

/** The history of a lead: actions, changes and actors, newest first. */
export const LeadHistory = ({ history }: { history: HistoryEntry[] }) => (
  <>
    <h2>History</h2>
    <Table
      caption="History, newest first"
      columns={COLUMNS}
      rows={history}
      getKey={({ version }) => version}
    />
  </>
)
