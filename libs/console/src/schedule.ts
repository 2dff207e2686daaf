import { api, readData, type Schemas } from './api'
import { formatApiDate } from './parts/format'

export type ScheduleEntry = Schemas['ScheduleEntry']

export const KIND_LABELS: Record<ScheduleEntry['kind'], string> = {
  appointment: 'Appointment',
  callback: 'Callback',
}

/** An appointment or a callback, in the lists of a lead or in the schedule of all leads. */
export type Entry = Pick<ScheduleEntry, 'kind' | 'id' | 'lead_reference' | 'user_id' | 'date' | 'notify'>

interface Move {
  /** The user who takes the entry over. Absent if the user does not change. */
  userId?: number | undefined
  /** Whether to send the changed invitation. By default sends it if the user was notified before. */
  notify?: boolean
  /** Whether the user gets a reminder when the entry is due. Absent if this does not change. */
  remind?: boolean
}

const PATHS = {
  appointment: '/leads/{reference}/appointments/{id}',
  callback: '/leads/{reference}/callbacks/{id}',
} as const

const findPath = ({ id, lead_reference: reference }: Entry) => ({ reference, id })

/** Marks an appointment or a callback as done. */
export const markDone = async (entry: Entry): Promise<void> => {
  const params = { path: findPath(entry) }
  await api().PATCH(PATHS[entry.kind], { params, body: { done: true } })
}

/** Moves an appointment or a callback. `at` is the value of a date field, in the time zone of the UK. */
export const moveEntry = async (
  entry: Entry,
  at: string,
  { userId, notify = entry.notify, remind }: Move = {},
): Promise<void> => {
  const moved = { date: formatApiDate(at), notify, ...(remind !== undefined && { remind }) }
  // Omits an unchanged user, because the API rejects a user who was removed from the account.
  const body = userId === undefined || userId === entry.user_id ? moved : { ...moved, user_id: userId }
  await api().PATCH(PATHS[entry.kind], { params: { path: findPath(entry) }, body })
}

/** Cancels an appointment or a callback. By default withdraws the invitation if the user has one. */
export const cancelEntry = async (entry: Entry, { notify = entry.notify } = {}): Promise<void> => {
  const params = { path: findPath(entry), query: { notify } }
  await api().DELETE(PATHS[entry.kind], { params })
}

interface ScheduleFilters {
  from?: string
  to?: string
  user_id?: number
}

/** Lists the first 100 open appointments and callbacks, earliest first. */
export const listOpenEntries = (
  query: ScheduleFilters,
  signal?: AbortSignal,
): Promise<Schemas['ScheduleEntryCursorPage']> =>
  readData(api().GET('/manage/schedule', { params: { query: { ...query, state: 'open' } }, signal }))
