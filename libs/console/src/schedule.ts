import { api, readData, type Schemas } from './api'

export type ScheduleEntry = Schemas['ScheduleEntry']

/** Identifies an appointment or a callback. */
type EntryKey = Pick<ScheduleEntry, 'kind' | 'id' | 'lead_reference'>

const PATHS = {
  appointment: '/leads/{reference}/appointments/{id}',
  callback: '/leads/{reference}/callbacks/{id}',
} as const

const makePath = ({ lead_reference: reference, id }: EntryKey) => ({ reference, id })

const changeEntry = async (
  entry: EntryKey,
  body: { done?: boolean; date?: string; notify?: boolean },
): Promise<void> => {
  await api().PATCH(PATHS[entry.kind], { params: { path: makePath(entry) }, body })
}

/** Marks an appointment or a callback as done. */
export const markDone = (entry: EntryKey): Promise<void> => changeEntry(entry, { done: true })

/** Converts `2026-12-24T14:30`, the value of a date field, to `24/12/2026 14:30`, the format of the API. */
const formatApiDate = (local: string): string => {
  const [year, month, day, time] = local.split(/[-T]/)
  return `${day}/${month}/${year} ${time}`
}

/**
 * Moves an appointment or a callback to `at`, the value of a date field in the time zone of the United
 * Kingdom. Notifies the user if the user was notified before.
 */
export const moveEntry = (entry: EntryKey & Pick<ScheduleEntry, 'notify'>, at: string): Promise<void> =>
  changeEntry(entry, { date: formatApiDate(at), notify: entry.notify })

/** Cancels an appointment or a callback. Notifies the user if the user was notified before. */
export const cancelEntry = async (entry: EntryKey & Pick<ScheduleEntry, 'notify'>): Promise<void> => {
  const params = { path: makePath(entry), query: { notify: entry.notify } }
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
