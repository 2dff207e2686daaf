/** An appointment or a callback, as its columns. */
export interface EntryRow {
  id: number
  user_id: number
  date: string
  notify: boolean
  created_at: string
}

export const ENTRY_COLUMNS = 't.id, t.user_id, t.date, t.notify, t.created_at'

/** The public JSON of an appointment or a callback. */
export const entryJson = (
  { id, user_id, date, notify, created_at }: EntryRow,
  leadReference: string,
): string => JSON.stringify({ id, lead_reference: leadReference, user_id, date, notify, created_at })
