import { money, STATUS_WORDS, type Status } from '../leads'
import { ukMoment } from '../parts/format'
import { type Column, Table } from '../parts/table'
import { Exactly } from '../parts/time'
import type { HistoryEntry } from './load-lead'

type Change = HistoryEntry['changes'][number]

const ACTIONS: Record<HistoryEntry['action'], string> = {
  created: 'Created',
  updated: 'Updated',
  erased: 'Erased',
}

type Words = { name: string; wordOf: (value: unknown) => string }

const entry = (name: string): Words => ({
  name,
  wordOf: (value) => {
    const { date, user_id: user } = (value ?? {}) as { date?: string; user_id?: number }
    return date === undefined ? 'cancelled' : `${ukMoment(date)}, user ${user}`
  },
})

const FIELDS: Partial<Record<Change['field'], Words>> = {
  status: { name: 'Status', wordOf: (value) => STATUS_WORDS[value as Status] },
  value: { name: 'Value', wordOf: (value) => money(value as number) },
  user: {
    name: 'Assigned user',
    wordOf: (value) => (value as { email: string } | null)?.email ?? 'none',
  },
  appointment: entry('Appointment'),
  callback: entry('Callback'),
  duplicate_of: { name: 'Duplicate of', wordOf: (value) => (value as string | null) ?? 'none' },
}

const fieldOf = (field: Change['field']): Words =>
  FIELDS[field] ?? { name: field[0]!.toUpperCase() + field.slice(1).replaceAll('_', ' '), wordOf: String }

// An erasure empties both, and of personal fields neither is kept.
const isEmptied = ({ from, to }: Change) => from === null && to === null

const wordsOf = (change: Change) => {
  const { name, wordOf } = fieldOf(change.field)
  return isEmptied(change) ? name : `${name}: ${wordOf(change.from)} → ${wordOf(change.to)}`
}

const COLUMNS: Column<HistoryEntry>[] = [
  { name: 'What', cell: ({ action }) => ACTIONS[action] },
  {
    name: 'Changes',
    cell: ({ changes }) =>
      changes.length === 0 ? (
        <span class="none">–</span>
      ) : (
        <span class="wrap">{changes.map(wordsOf).join('; ')}</span>
      ),
  },
  {
    name: 'By',
    cell: ({ token }) => (token ? `Token ${token.name}` : <span class="none">not recorded</span>),
  },
  { name: 'When', cell: ({ at }) => <Exactly at={at} /> },
]

/** Who created and changed a lead, newest first. */
export const LeadHistory = ({ history }: { history: HistoryEntry[] }) => (
  <>
    <h2>History</h2>
    <Table
      caption="History, newest first"
      columns={COLUMNS}
      rows={history}
      keyOf={({ version }) => version}
    />
  </>
)
