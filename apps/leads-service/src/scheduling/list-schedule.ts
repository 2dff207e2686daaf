import type { ListScheduleRequest, SchedulePosition } from '@leadwire/contracts'
import { statement } from '@leadwire/service-kit'
import { firstPage } from '../database/page'
import { LIMIT } from '../leads/read/lead-records'
import type { Subject } from '../notifications/record-notification'
import type { Operation } from '../operation'
import { isOpenEntry } from './is-open-entry'
import { ENTRY_COLUMNS, type EntryRow } from './schedule'

/** The kinds of entries, in the order that entries with the same date have. */
const KINDS: readonly Subject[] = ['appointment', 'callback']

const STATES = {
  open: `AND ${isOpenEntry('t')}`,
  done: 'AND t.cancelled_at IS NULL AND t.done_at IS NOT NULL',
  all: '',
}

type State = keyof typeof STATES

interface ScheduleRow extends EntryRow {
  kind: Subject
  reference: string
  lead_name: string
  status: string
  value: number
  erased: boolean
  customer_name: string
  email: string
  phone: string
  mobile: string | null
  postcode: string
  user_name: string
}

// PostgreSQL plans for a user with few entries. Without these settings, PostgreSQL would read a user's done
// and open entries from the older index `_of_user`, which has no id, and sort them.
export const SETTINGS = ['SET LOCAL enable_sort = off', 'SET LOCAL enable_incremental_sort = off']

/**
 * Returns SQL that selects entries of one kind by date: a range of the index that migration 0003 creates for
 * the state and the user. Erased leads are left out only after the LIMIT, because an account may have any
 * number of them.
 */
export const selectSchedule = (kind: Subject, state: State, ofUser: boolean): string => `
  SELECT '${kind}' AS kind, ${ENTRY_COLUMNS}, l.reference, l.name AS lead_name, l.status, l.value,
    l.erased_at IS NOT NULL AS erased, concat_ws(' ', l.first_name, l.last_name) AS customer_name, l.email,
    l.phone, l.mobile, l.postcode, u.name AS user_name
  FROM (
    SELECT ${ENTRY_COLUMNS}, t.account_id, t.lead_id FROM ${kind}s t
    WHERE t.account_id = $1 AND (t.date, t.id) > ($2::timestamptz, $3::bigint) AND t.date < $4::timestamptz
      ${STATES[state]} ${ofUser ? 'AND t.user_id = $5' : ''}
    ORDER BY t.date, t.id LIMIT ${LIMIT + 1}
  ) t
  JOIN leads l ON l.account_id = t.account_id AND l.id = t.lead_id
  JOIN users u ON u.account_id = t.account_id AND u.id = t.user_id
  ORDER BY t.date, t.id`

const makeStatement = (kind: Subject, state: State, ofUser: boolean) => {
  const name = `list-${state}-${kind}s${ofUser ? '-of-user' : ''}`
  return statement<ScheduleRow>(name)`${selectSchedule(kind, state, ofUser)}`
}

/** Returns the date and the id after which entries of `kind` are listed. */
const findStart = (kind: Subject, { from, after }: ListScheduleRequest): [date: string, id: number] => {
  if (!after) return [from ?? '-infinity', 0]
  if (kind === after.kind) return [after.date, after.id]
  // All appointments of a date come before all callbacks of the same date.
  return [after.date, kind < after.kind ? Number.MAX_SAFE_INTEGER : 0]
}

const isEarlier = (a: ScheduleRow, b: ScheduleRow): boolean => {
  if (a.date !== b.date) return a.date < b.date
  return a.kind === b.kind ? a.id < b.id : a.kind < b.kind
}

const renderEntry = (row: ScheduleRow) => ({
  kind: row.kind,
  id: row.id,
  lead_reference: row.reference,
  user_id: row.user_id,
  date: row.date,
  notify: row.notify,
  created_at: row.created_at,
  cancelled_at: row.cancelled_at,
  done_at: row.done_at,
  remind: row.remind,
  lead: { reference: row.reference, name: row.lead_name, status: row.status, value: row.value },
  customer: {
    name: row.customer_name,
    email: row.email,
    phone: row.phone,
    mobile: row.mobile,
    postcode: row.postcode,
  },
  user: { id: row.user_id, name: row.user_name },
})

const findPosition = (last: ScheduleRow | undefined): SchedulePosition | undefined =>
  last && { date: last.date, kind: last.kind, id: last.id }

/**
 * Lists appointments and callbacks of all leads, ordered by date, kind and id. Leaves out the entries of
 * erased leads, so a page may have fewer than LIMIT entries although a further page follows.
 */
export const listSchedule: Operation<'listSchedule'> = async ({ database }, asked) => {
  const { accountId, to = 'infinity', userId, kind } = asked
  const state = asked.state as State
  const ofUser = userId !== undefined
  const kinds = KINDS.filter((one) => kind === undefined || one === kind)
  return database.transaction(async (tx) => {
    for (const text of SETTINGS) tx.send({ text })
    const lists = await Promise.all(
      kinds.map((one) => {
        const values = [accountId, ...findStart(one, asked), to]
        return makeStatement(one, state, ofUser)(tx, ...values, ...(ofUser ? [userId] : []))
      }),
    )
    const rows = lists.flat().sort((a, b) => (isEarlier(a, b) ? -1 : 1))
    const { shown, last } = firstPage(rows, LIMIT)
    const entries = shown.filter(({ erased }) => !erased).map(renderEntry)
    return { items: Buffer.from(JSON.stringify(entries)), nextAfter: findPosition(last) }
  })
}
