import { SEARCH_FORMAT } from '@leadwire/contracts'
import { type Database, ServiceError, statement } from '@leadwire/service-kit'
import type { OutboxEvent, RecordingDeps } from '../../outbox/record-events'
import { reportSuspects } from './report-suspects'
import { lockProgress, writeTerms } from './write-terms'

/** How many leads' words one transaction writes. */
const BATCH = 100

const countLeads = statement<{ count: number }>('count-of-leads')`
  SELECT lead_count AS count FROM accounts WHERE id = $1`

const moveProgress = statement('move-search-progress')`
  UPDATE lead_search_progress
  SET number = $2, suspected = greatest(coalesce(suspected, number), $2), format = ${SEARCH_FORMAT} WHERE account_id = $1`

// What a crash takes with it is written again: the progress goes with the words.
const RELAXED = 'SET LOCAL synchronous_commit = off'

export type IndexDeps = RecordingDeps & {
  /** How long before a lead another one of the same person was created at most; 0: none is reported. */
  duplicateWindowMs: number
}

/**
 * Writes the words of an account's next leads, and reports those of them that earlier ones seem to be duplicates of; words of an older
 * format are written anew from the first lead on. `busy`, with `skip`: another copy is indexing, and may not have seen the newest
 * leads. The numbers of an account are committed in their order.
 */
export const indexLeads = async (
  { database, onCommitted, duplicateWindowMs: windowMs }: IndexDeps,
  accountId: number,
  { skip }: { skip: boolean },
): Promise<'done' | 'more' | 'busy'> => {
  let events: OutboxEvent[] = []
  const state = await database.transaction(async (tx) => {
    tx.send({ text: RELAXED })
    // Before the lock, which is a row of an account that is there. Later leads are enqueued themselves.
    const [account] = await countLeads(tx, accountId)
    if (!account) return 'done'
    const { count } = account
    const progress = await lockProgress(tx, accountId, { skip })
    if (!progress) return 'busy'
    // A newer release is rolled out, and does it.
    if (progress.format > SEARCH_FORMAT) return 'done'
    const after = progress.format < SEARCH_FORMAT ? 0 : progress.number
    if (after >= count) return 'done'
    const last = Math.min(after + BATCH, count)
    const reported = progress.suspected ?? progress.number
    const terms = (await writeTerms(tx, accountId, { after, last })).filter(({ number }) => number > reported)
    if (terms.length > 0 && windowMs > 0) events = await reportSuspects(tx, accountId, { terms, windowMs })
    moveProgress.send(tx, accountId, last)
    return last < count ? 'more' : 'done'
  })
  onCommitted(events)
  return state
}

// 20,000 leads are some seconds' work.
const CATCH_UP = 20_000 / BATCH

/** Has every lead that the account has by now found by its words. Throws unavailable where too many of them have none yet. */
export const catchUp = async (deps: IndexDeps, accountId: number): Promise<void> => {
  for (let round = 0; round < CATCH_UP; round += 1)
    if ((await indexLeads(deps, accountId, { skip: false })) === 'done') return
  throw new ServiceError('unavailable', 'The words of the account’s leads are still being written.')
}

const selectBehind = statement<{ id: number; behind: boolean }>('unindexed-accounts')`
  SELECT a.id, (a.lead_count > coalesce(p.number, 0) OR p.format < ${SEARCH_FORMAT}) IS TRUE AS behind
  FROM accounts a LEFT JOIN lead_search_progress p ON p.account_id = a.id
  WHERE a.id > $1 ORDER BY a.id LIMIT 1000`

/** The accounts with unindexed leads among the 1,000 after `after`, and the last account that was read; undefined at the end. */
export const findBehind = async (
  database: Database,
  after: number,
): Promise<{ behind: number[]; last: number | undefined }> => {
  const rows = await selectBehind(database, after)
  return { behind: rows.filter(({ behind }) => behind).map(({ id }) => id), last: rows.at(-1)?.id }
}
