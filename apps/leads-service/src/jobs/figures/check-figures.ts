import { CheckFiguresResponse } from '@leadwire/contracts'
import { type Database, type Query, statement, theRow } from '@leadwire/service-kit'
import type { Operation } from '../../operation'
import type { FiguresDeps } from './count-leads'
import { COLUMNS, selectFigures } from './lead-figures'

/** The maximum number of leads that a batch compares. */
const LEADS = 500

// The ids are in a separate statement, because `selectFigures` takes them as a parameter.
const selectLeads = statement<{ id: number; number: number }>('leads-of-figures-to-check')`
  SELECT l.id, l.number FROM figures_progress p JOIN leads l ON l.account_id = p.account_id
  WHERE p.account_id = $1 AND NOT p.is_rebuilding AND l.number > $2 AND l.number <= p.number
  ORDER BY l.number LIMIT ${LEADS}`

const STORED = `SELECT ${COLUMNS} FROM lead_figures WHERE account_id = $1 AND lead_id = ANY ($2::bigint[])`

const KEPT_BUCKET = `(SELECT max(response_bucket) FROM lead_figures k
  WHERE k.account_id = l.account_id AND k.lead_id = l.id AND l.erased_at IS NOT NULL)`

// Reads leads, figures and changes in one snapshot, so a lead that differs is either waiting for a batch, or
// was counted wrongly.
const compareLeads = statement<{ id: number }>('compare-figures-of-leads')`
  WITH present AS (${selectFigures(KEPT_BUCKET)}), stored AS (${STORED})
  SELECT DISTINCT lead_id AS id FROM (
    (TABLE present EXCEPT TABLE stored) UNION ALL (TABLE stored EXCEPT TABLE present)
  ) d
  WHERE NOT EXISTS (SELECT FROM changed_leads c WHERE c.account_id = $1 AND c.lead_id = d.lead_id)
  ORDER BY 1`

const selectDay = statement<{ day: string | null }>('next-day-of-figures')`
  SELECT least(
    (SELECT min(day) FROM lead_figures WHERE account_id = $1 AND day > $2::date),
    (SELECT min(day) FROM daily_figures WHERE account_id = $1 AND day > $2::date)
  )::text AS day
  FROM figures_progress WHERE account_id = $1 AND NOT is_rebuilding`

const KEY = 'account_id, day, referrer, status, user_id'

// Leaves out the leads that a rebuild has not counted yet.
const OF_DAY = `lead_figures f JOIN leads l ON l.account_id = f.account_id AND l.id = f.lead_id
    JOIN figures_progress p ON p.account_id = f.account_id AND l.number <= p.number
    WHERE f.account_id = $1 AND f.day = $2::date`

const COMPARE_DAY = `
  WITH lead AS (
    SELECT f.* FROM ${OF_DAY}
  ), summed AS (
    SELECT ${KEY}, NULL::int AS bucket, sum(created)::bigint, sum(appointments)::bigint, sum(sold)::bigint,
      sum(lost)::bigint, sum(value_sold)::bigint
    FROM lead GROUP BY ${KEY}
    UNION ALL SELECT ${KEY}, response_bucket, count(*), 0, 0, 0, 0 FROM lead
    WHERE response_bucket IS NOT NULL GROUP BY ${KEY}, response_bucket
  ), stored AS (
    SELECT ${KEY}, NULL::int AS bucket, created, appointments, sold, lost, value_sold FROM daily_figures
    WHERE account_id = $1 AND day = $2::date
    UNION ALL SELECT ${KEY}, bucket, leads, 0, 0, 0, 0 FROM response_figures
    WHERE account_id = $1 AND day = $2::date
  )
  SELECT EXISTS (TABLE summed EXCEPT TABLE stored) OR EXISTS (TABLE stored EXCEPT TABLE summed) AS differs`

/** The maximum time to compare a day, in milliseconds. The command waits longer than this. */
const DAY_LIMIT_MS = 120_000

/**
 * Returns whether the sums of a day are wrong. A day may have millions of leads, because an import creates
 * all its leads on one day. Their comparison takes longer than the usual limit of a statement. Only operators
 * can ask for it.
 */
const compareDay = (database: Database, accountId: number, day: string): Promise<boolean> =>
  database.with('compare-day', [`statement_timeout = ${DAY_LIMIT_MS}`]).transaction(async (tx) => {
    // `query_timeout` replaces the time after which a connection without a response counts as dead.
    const query: Query & { query_timeout: number } = {
      name: 'compare-figures-of-day',
      text: COMPARE_DAY,
      values: [accountId, day],
      query_timeout: DAY_LIMIT_MS,
    }
    const [compared] = await tx.query<{ differs: boolean }>(query)
    return compared!.differs
  })

const findAccount = statement('account-of-figures')`SELECT FROM accounts WHERE id = $1`

const respond = (response: Partial<CheckFiguresResponse>) => CheckFiguresResponse.fromPartial(response)

/** Compares the leads with numbers above `after`. Resolves with undefined if no counted lead follows. */
const checkLeads = async (
  { database, timeZone }: FiguresDeps,
  accountId: number,
  after: number,
): Promise<CheckFiguresResponse | undefined> => {
  const leads = await selectLeads(database, accountId, after)
  const last = leads.at(-1)
  if (!last) return undefined
  const leadIds = leads.map(({ id }) => id)
  const differing = new Set((await compareLeads(database, accountId, leadIds, timeZone)).map(({ id }) => id))
  const differingLeads = leads.filter(({ id }) => differing.has(id)).map(({ number }) => number)
  return respond({ leads: leads.length, differingLeads, nextNumber: last.number })
}

const checkNextDay = async (
  { database }: FiguresDeps,
  accountId: number,
  after: string,
): Promise<CheckFiguresResponse> => {
  const [next] = await selectDay(database, accountId, after)
  const day = next?.day
  if (!day) return respond({})
  const differs = await compareDay(database, accountId, day)
  return respond({ days: 1, differingDays: differs ? [day] : [], nextDay: day })
}

/**
 * Compares a batch of an account's figures. First compares the figures of each lead with the lead, and then
 * the sums of each day with the figures of the leads. Leaves out leads and changes that are not counted yet,
 * and compares nothing during a rebuild. The caller passes the position of each response in the next call.
 * The check is finished when a response has no position. Throws `not_found` if there is no such account.
 */
export const checkFigures: Operation<'checkFigures'> = async (deps, request) => {
  const { accountId, afterNumber = 0, afterDay } = request
  theRow(await findAccount(deps.database, accountId), 'account')
  const checked = afterDay === undefined ? await checkLeads(deps, accountId, afterNumber) : undefined
  return checked ?? checkNextDay(deps, accountId, afterDay ?? '-infinity')
}
