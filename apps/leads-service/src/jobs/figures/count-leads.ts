/*
 * Counts leads for GET /manage/figures. `lead_figures` has what each lead adds to each day, and
 * `daily_figures` and `response_figures` have the sums over all counted leads. The invariants:
 *
 * - The three tables of an account change only in transactions that hold the lock on its row in
 *   `figures_progress`, so two processes never count the same change twice.
 * - The sums are the sums of `lead_figures` over the leads with numbers up to `figures_progress.number`.
 * - A committed change of a counted lead is in `lead_figures`, or has a row in `changed_leads`.
 *
 * While `is_rebuilding` is set, rounds only delete the sums of the account. The last of these rounds sets
 * `number` to 0, and the next rounds count all leads again.
 *
 * count-leads.spec.ts proves the invariants.
 */
import { type Database, type OpenTransaction, splitIntoColumns, statement } from '@leadwire/service-kit'
import { listPolled, POLLED_ACCOUNTS, type Polled } from '../../loops/start-account-loops'
import { COLUMNS, selectFigures } from './lead-figures'

/** The maximum numbers of new leads and of changes that one transaction counts. */
const BATCH = 500
/** The maximum number of rows of each table that one round of a rebuild deletes. */
const CLEARED = 5000

export interface FiguresDeps {
  database: Database
  /** The time zone in which days begin and end. */
  timeZone: string
}

interface Progress {
  /** The leads up to this number are counted. */
  number: number
  isRebuilding: boolean
}

// A crash may lose the last transactions. Each of them is lost as a whole, so the next round repeats it.
const RELAXED = 'SET LOCAL synchronous_commit = off'

const selectCount = statement<{ count: number }>('count-of-leads-for-figures')`
  SELECT lead_count AS count FROM accounts WHERE id = $1`

const addProgress = statement('add-figures-progress')`
  INSERT INTO figures_progress (account_id) VALUES ($1) ON CONFLICT DO NOTHING`

const lockProgress = statement<Progress>('lock-figures-progress')`
  SELECT number, is_rebuilding AS "isRebuilding" FROM figures_progress WHERE account_id = $1
  FOR UPDATE SKIP LOCKED`

const moveProgress = statement('move-figures-progress')`
  UPDATE figures_progress SET number = $2, is_rebuilding = false WHERE account_id = $1`

const takeChanges = statement<{ leadId: number }>('take-changed-leads')`
  DELETE FROM changed_leads
  WHERE account_id = $1 AND id = ANY (ARRAY (
    SELECT id FROM changed_leads WHERE account_id = $1 ORDER BY id LIMIT ${BATCH}
  ))
  RETURNING lead_id AS "leadId"`

type LeadRow = { id: number; number: number }

// Leaves out changed leads that are not counted yet, because a later batch counts them by their numbers.
const selectLeads = statement<LeadRow>('leads-to-count')`
  SELECT id, number FROM leads
  WHERE account_id = $1 AND number > $2 AND number <= $3
  UNION ALL
  SELECT id, number FROM leads
  WHERE account_id = $1 AND id = ANY ($4::bigint[]) AND number <= $2`

// LATERAL with OFFSET 0 makes PostgreSQL find each lead by the primary key. For `lead_id = ANY ($2)`,
// PostgreSQL reads all rows of the account by the index on days, until statistics know the account.
const FIGURES_OF_LEADS = `unnest($2::bigint[]) AS counted (id) CROSS JOIN LATERAL (
    SELECT ctid, * FROM lead_figures WHERE account_id = $1 AND lead_id = counted.id OFFSET 0
  ) f`

// $3 is 1 or -1.
const addToDays = statement('add-to-daily-figures')`
  INSERT INTO daily_figures AS d
    (account_id, day, referrer, status, user_id, created, appointments, sold, lost, value_sold)
  SELECT account_id, day, referrer, status, user_id, $3::int * sum(created), $3::int * sum(appointments),
    $3::int * sum(sold), $3::int * sum(lost), $3::int * sum(value_sold)
  FROM ${FIGURES_OF_LEADS}
  GROUP BY account_id, day, referrer, status, user_id
  ON CONFLICT (account_id, day, referrer, status, user_id) DO UPDATE
  SET created = d.created + excluded.created, appointments = d.appointments + excluded.appointments,
    sold = d.sold + excluded.sold, lost = d.lost + excluded.lost,
    value_sold = d.value_sold + excluded.value_sold`

// $3 is 1 or -1.
const addToResponses = statement('add-to-response-figures')`
  INSERT INTO response_figures AS r (account_id, day, referrer, status, user_id, bucket, leads)
  SELECT account_id, day, referrer, status, user_id, response_bucket, $3::int * count(*)
  FROM ${FIGURES_OF_LEADS} WHERE response_bucket IS NOT NULL
  GROUP BY account_id, day, referrer, status, user_id, response_bucket
  ON CONFLICT (account_id, day, referrer, status, user_id, bucket) DO UPDATE
  SET leads = r.leads + excluded.leads`

/** Returns SQL that deletes the rows of a table that are empty and have a key of the leads. */
const deleteEmpty = (table: string, isEmpty: string): string => `
  DELETE FROM ${table} WHERE ctid = ANY (ARRAY (
    SELECT s.ctid FROM (SELECT DISTINCT day, referrer, status, user_id FROM ${FIGURES_OF_LEADS}) k
    CROSS JOIN LATERAL (
      SELECT ctid FROM ${table} WHERE account_id = $1 AND day = k.day AND referrer = k.referrer
        AND status = k.status AND user_id = k.user_id AND ${isEmpty} OFFSET 0
    ) s
  ))`

const deleteEmptyDays = statement('delete-empty-daily-figures')`
  ${deleteEmpty('daily_figures', '(created, appointments, sold, lost, value_sold) = (0, 0, 0, 0, 0)')}`

const deleteEmptyResponses = statement('delete-empty-response-figures')`
  ${deleteEmpty('response_figures', 'leads = 0')}`

const deleteLeadFigures = statement<{ id: number; bucket: number | null }>('delete-lead-figures')`
  DELETE FROM lead_figures WHERE ctid = ANY (ARRAY (SELECT f.ctid FROM ${FIGURES_OF_LEADS}))
  RETURNING lead_id AS id, response_bucket AS bucket`

// $4 and $5 are the ids and the buckets of the deleted rows. Reads `erased_at` together with the records of
// the lead, because an erasure may commit between two statements of this transaction.
const KEPT_BUCKET = `(SELECT bucket FROM unnest($4::bigint[], $5::int[]) AS kept (id, bucket)
  WHERE kept.id = l.id AND l.erased_at IS NOT NULL)`

const insertLeadFigures = statement('insert-lead-figures')`
  INSERT INTO lead_figures (${COLUMNS}) ${selectFigures(KEPT_BUCKET)}`

/** Adds the figures of leads to the sums, or subtracts them. */
const addFigures = (tx: OpenTransaction, accountId: number, leadIds: number[], sign: 1 | -1): void => {
  addToDays.send(tx, accountId, leadIds, sign)
  addToResponses.send(tx, accountId, leadIds, sign)
}

const subtractFigures = (tx: OpenTransaction, accountId: number, leadIds: number[]): void => {
  addFigures(tx, accountId, leadIds, -1)
  deleteEmptyDays.send(tx, accountId, leadIds)
  deleteEmptyResponses.send(tx, accountId, leadIds)
}

/** Deletes a batch of an account's sums. Resolves with whether none are left. */
const clearFigures = async (tx: OpenTransaction, accountId: number): Promise<boolean> => {
  const counts: number[] = []
  for (const table of ['daily_figures', 'response_figures']) {
    const batch = `SELECT ctid FROM ${table} WHERE account_id = $1 LIMIT ${CLEARED}`
    const text = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY (${batch})) RETURNING 1`
    counts.push((await tx.query({ text, values: [accountId] })).length)
  }
  return counts.every((count) => count < CLEARED)
}

/**
 * Counts new leads, and counts changed leads again. The numbers of new leads are above `after`. The account's
 * row in `figures_progress` is locked.
 */
const recount = async (
  tx: OpenTransaction,
  leads: LeadRow[],
  { accountId, after, timeZone }: { accountId: number; after: number; timeZone: string },
): Promise<void> => {
  if (leads.length === 0) return
  const leadIds = leads.map(({ id }) => id)
  // A rebuild leaves rows of new leads in `lead_figures`. The sums do not contain these rows.
  const counted = leads.filter(({ number }) => number <= after)
  const countedIds = counted.map(({ id }) => id)
  subtractFigures(tx, accountId, countedIds)
  const deleted = await deleteLeadFigures(tx, accountId, leadIds)
  const responded = deleted.filter(({ bucket }) => bucket !== null)
  insertLeadFigures.send(tx, accountId, leadIds, timeZone, ...splitIntoColumns(responded, 'id', 'bucket'))
  addFigures(tx, accountId, leadIds, 1)
}

/**
 * Counts an account's next new leads and changed leads. Never misses a lead, because an account's leads are
 * committed in the order of their numbers. Resolves with `busy` if another copy is counting the account. The
 * caller must then try again, because that copy may not have seen the newest changes.
 */
export const countLeads = (
  { database, timeZone }: FiguresDeps,
  accountId: number,
): Promise<'done' | 'more' | 'busy'> =>
  database.transaction(async (tx) => {
    tx.send({ text: RELAXED })
    // Counts the leads before `addProgress`, because `addProgress` fails if the account does not exist.
    const [account] = await selectCount(tx, accountId)
    if (!account) return 'done'
    addProgress.send(tx, accountId)
    const [progress] = await lockProgress(tx, accountId)
    if (!progress) return 'busy'
    if (progress.isRebuilding) {
      if (await clearFigures(tx, accountId)) moveProgress.send(tx, accountId, 0)
      return 'more'
    }
    const { number: after } = progress
    const last = Math.max(after, Math.min(after + BATCH, account.count))
    const changes = await takeChanges(tx, accountId)
    const changedIds = changes.map(({ leadId }) => leadId)
    const leads = await selectLeads(tx, accountId, after, last, changedIds)
    await recount(tx, leads, { accountId, after, timeZone })
    if (last > after) moveProgress.send(tx, accountId, last)
    return last < account.count || changes.length === BATCH ? 'more' : 'done'
  })

/** SQL: whether leads or changes of an account `a` are not counted yet. */
const IS_BEHIND = `(a.lead_count > coalesce(p.number, 0) OR p.is_rebuilding OR c.found) IS TRUE`

// LIMIT keeps PostgreSQL from reading the whole table `changed_leads`.
const FROM_ACCOUNTS = `
  FROM accounts a LEFT JOIN figures_progress p ON p.account_id = a.id
  LEFT JOIN LATERAL (SELECT true AS found FROM changed_leads WHERE account_id = a.id LIMIT 1) c ON true`

const selectBehind = statement<{ id: number; behind: boolean }>('uncounted-accounts')`
  SELECT a.id, ${IS_BEHIND} AS behind ${FROM_ACCOUNTS} WHERE a.id > $1 ORDER BY a.id LIMIT ${POLLED_ACCOUNTS}`

/**
 * Finds the accounts with leads to count, among the POLLED_ACCOUNTS accounts that follow `after`. `last` is
 * the last account that was read, or undefined if no more accounts follow.
 */
export const findUncounted = async (database: Database, after: number): Promise<Polled> => {
  const rows = await selectBehind(database, after)
  return listPolled(rows)
}

const selectOne = statement<{ behind: boolean }>('is-account-uncounted')`
  SELECT ${IS_BEHIND} AS behind ${FROM_ACCOUNTS} WHERE a.id = $1`

/** Returns whether all leads and all changes of an account are counted. */
export const areFiguresCurrent = async (database: Database, accountId: number): Promise<boolean> => {
  const [account] = await selectOne(database, accountId)
  return account !== undefined && !account.behind
}
