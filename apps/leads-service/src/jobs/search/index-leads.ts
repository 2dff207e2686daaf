import { SEARCH_FORMAT } from '@leadwire/contracts'
import { type Database, ServiceError, statement } from '@leadwire/service-kit'
import { listPolled, POLLED_ACCOUNTS, type Polled } from '../../loops/start-account-loops'
import type { OutboxEvent, RecordingDeps } from '../../outbox/record-events'
import { reportSuspects } from './report-suspects'
import { lockProgress, writeTerms } from './write-terms'

/** The maximum number of leads that one transaction indexes. */
const BATCH = 100

const countLeads = statement<{ count: number }>('count-of-leads')`
  SELECT lead_count AS count FROM accounts WHERE id = $1`

const moveProgress = statement('move-search-progress')`
  UPDATE lead_search_progress
  SET number = $2, suspected = greatest(suspected, $2), format = ${SEARCH_FORMAT} WHERE account_id = $1`

// The commit does not wait for the disk. A crash may lose the search terms, but only together with the
// progress, so the next round writes the terms again.
const RELAXED = 'SET LOCAL synchronous_commit = off'

export type IndexDeps = RecordingDeps & {
  /**
   * A lead's suspects are leads of the same person that were created at most this long before the lead. With
   * 0, no suspects are reported.
   */
  duplicateWindowMs: number
}

/**
 * Writes the search terms of an account's next leads, and reports the earlier leads that these leads may
 * duplicate. Starts again with the first lead if the stored terms have an older format. Never misses a lead,
 * because an account's leads are committed in the order of their numbers. Resolves with `busy` if `skip` is
 * set and another copy is indexing the account. The caller must then try again, because that copy may not
 * have seen the newest leads.
 */
export const indexLeads = async (
  { database, onCommitted, duplicateWindowMs: windowMs }: IndexDeps,
  accountId: number,
  { skip }: { skip: boolean },
): Promise<'done' | 'more' | 'busy'> => {
  let events: OutboxEvent[] = []
  const state = await database.transaction(async (tx) => {
    tx.send({ text: RELAXED })
    // Counts the leads before `lockProgress`, because `lockProgress` fails if the account does not exist.
    // Leads that are committed after this count are indexed in a later round.
    const [account] = await countLeads(tx, accountId)
    if (!account) return 'done'
    const { count } = account
    const progress = await lockProgress(tx, accountId, { skip })
    if (!progress) return 'busy'
    // The stored terms have a newer format, so a newer release is being rolled out. That release indexes the
    // leads.
    if (progress.format > SEARCH_FORMAT) return 'done'
    const after = progress.format < SEARCH_FORMAT ? 0 : progress.number
    if (after >= count) return 'done'
    const last = Math.min(after + BATCH, count)
    const written = await writeTerms(tx, accountId, { after, last })
    const terms = written.filter(({ number }) => number > progress.suspected)
    if (terms.length > 0 && windowMs > 0) events = await reportSuspects(tx, accountId, { terms, windowMs })
    moveProgress.send(tx, accountId, last)
    return last < count ? 'more' : 'done'
  })
  onCommitted(events)
  return state
}

// The maximum number of rounds of `catchUp`. These rounds index 20,000 leads, which takes a few seconds.
const CATCH_UP = 20_000 / BATCH

/** Indexes all remaining leads of an account. Throws `unavailable` if more than 20,000 leads remain. */
export const catchUp = async (deps: IndexDeps, accountId: number): Promise<void> => {
  for (let round = 0; round < CATCH_UP; round += 1)
    if ((await indexLeads(deps, accountId, { skip: false })) === 'done') return
  throw new ServiceError(
    'unavailable',
    'The search index of this account is not complete yet. Try again shortly.',
  )
}

const selectBehind = statement<{ id: number; behind: boolean }>('unindexed-accounts')`
  SELECT a.id, (a.lead_count > coalesce(p.number, 0) OR p.format < ${SEARCH_FORMAT}) IS TRUE AS behind
  FROM accounts a LEFT JOIN lead_search_progress p ON p.account_id = a.id
  WHERE a.id > $1 ORDER BY a.id LIMIT ${POLLED_ACCOUNTS}`

/**
 * Finds the accounts whose leads must be indexed, among the POLLED_ACCOUNTS accounts that follow `after`.
 * `last` is the last account that was read, or undefined if no more accounts follow.
 */
export const findBehind = async (database: Database, after: number): Promise<Polled> => {
  const rows = await selectBehind(database, after)
  return listPolled(rows)
}
