import type { CalendarEntry, FindCalendarResponse } from '@leadwire/contracts'
import { statement, theRow } from '@leadwire/service-kit'
import type { Subject } from '../notifications/record-notification'
import type { Operation } from '../operation'

/**
 * The maximum numbers of upcoming and of past appointments in a calendar. Callbacks have the same maximums,
 * and are counted separately.
 */
const UPCOMING = 250
const PAST = 100

const find = statement<FindCalendarResponse>('find-calendar')`
  SELECT u.account_id AS "accountId", u.id AS "userId", u.name AS "userName"
  FROM users u JOIN accounts a ON a.id = u.account_id
  WHERE u.calendar_hash = $1 AND u.removed_at IS NULL AND a.suspended_at IS NULL
    AND (u.calendar_expires_at IS NULL OR u.calendar_expires_at > clock_timestamp())`

const range = (subject: Subject, condition: string) => `
  (SELECT '${subject}' AS subject, id, date, sequence, coalesce(changed_at, created_at) AS changed_at, account_id, lead_id
   FROM ${subject}s WHERE account_id = $1 AND user_id = $2 AND cancelled_at IS NULL AND ${condition})`

const selectRanges = (subject: Subject) => [
  range(subject, `date >= now() ORDER BY date LIMIT ${UPCOMING}`),
  range(subject, `date < now() AND date >= now() - interval '90 days' ORDER BY date DESC LIMIT ${PAST}`),
]

const selectEntries = statement<CalendarEntry>('list-calendar-entries')`
  SELECT e.subject, e.id, e.date, e.sequence, e.changed_at AS "changedAt", l.reference AS "leadReference",
    l.name AS "leadName", concat_ws(' ', l.first_name, l.last_name) AS "customerName", l.email AS "customerEmail",
    l.phone AS "customerPhone", l.postcode AS "customerPostcode"
  FROM (${[...selectRanges('appointment'), ...selectRanges('callback')].join(' UNION ALL ')}) e
  JOIN leads l ON l.account_id = e.account_id AND l.id = e.lead_id
  WHERE l.erased_at IS NULL
  ORDER BY e.date, e.subject, e.id`

export const findCalendar: Operation<'findCalendar'> = async ({ database }, { hash }) =>
  theRow(await find(database, hash), 'calendar')

export const listCalendarEntries: Operation<'listCalendarEntries'> = async (deps, { accountId, userId }) => ({
  entries: await selectEntries(deps.database, accountId, userId),
})
