import { setTimeout as pause } from 'node:timers/promises'
import { createLoops, type Logger, type Round } from '@leadwire/service-kit'
import { findBehind, type IndexDeps, indexLeads } from './index-leads'

/**
 * The pause after a batch, as a multiple of the time that the batch took. The pause gives creates priority.
 */
const PAUSE_FACTOR = 1

/**
 * Starts two loops. The first loop indexes the committed leads of enqueued accounts, and reports suspected
 * duplicates. After a commit, this process enqueues the accounts of the new leads. The second loop polls
 * 1,000 accounts every two seconds, and enqueues accounts that a crash or a new format has left behind.
 */
export const startSearch = ({ logger, ...deps }: IndexDeps & { logger: Logger }) => {
  const loops = createLoops(logger)
  const accounts = new Set<number>()
  let polled = 0

  const index = async (): Promise<Round> => {
    let more = false
    // Iterates over a copy, because the loop over the set itself would also visit the accounts that are added
    // again below, and might never end.
    for (const accountId of [...accounts]) {
      if (loops.signal.aborted) return false
      // Deletes the account before the work starts, because leads that are committed during the work must
      // enqueue the account again.
      accounts.delete(accountId)
      const startedAt = performance.now()
      const state = await indexLeads(deps, accountId, { skip: true }).catch((error: unknown) => {
        accounts.add(accountId)
        throw error
      })
      if (state !== 'done') accounts.add(accountId)
      more ||= state === 'more'
      const { signal } = loops
      await pause(PAUSE_FACTOR * (performance.now() - startedAt), undefined, { signal }).catch(
        () => undefined,
      )
    }
    return more || (accounts.size > 0 && 'pause')
  }
  const poll = async (): Promise<Round> => {
    const { behind, last = 0 } = await findBehind(deps.database, polled)
    polled = last
    for (const accountId of behind) accounts.add(accountId)
    if (behind.length > 0) wake()
    return behind.length > 0 && 'pause'
  }

  const wake = loops.run('search', { pauseMs: 250, idleMs: 60_000 }, index)
  loops.run('search poll', { pauseMs: 2000 }, poll)
  return {
    /** Enqueues the accounts of leads that were just committed. */
    enqueue: (leads: { accountId: number }[]): void => {
      for (const { accountId } of leads) accounts.add(accountId)
      wake()
    },
    /**
     * Stops both loops. Resolves when the rounds in flight have ended. After the next start, the poll finds
     * the remaining leads.
     */
    stop: (): Promise<void> => loops.stop(),
  }
}
