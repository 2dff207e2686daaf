import { setTimeout as pause } from 'node:timers/promises'
import { createLoops, type Logger, type Round } from '@leadwire/service-kit'
import { findBehind, type IndexDeps, indexLeads } from './index-leads'

/** How many times as long as a batch took the next one waits: creates go first. */
const PAUSE_FACTOR = 1

/**
 * Writes the words that leads are found by, and reports suspected duplicates, after they were committed: of accounts that this
 * process has just written to, and of those that a crash or a new format left behind by a poll of 1,000 accounts every two seconds.
 */
export const startSearch = ({ logger, ...deps }: IndexDeps & { logger: Logger }) => {
  const loops = createLoops(logger)
  const accounts = new Set<number>()
  let polled = 0

  const index = async (): Promise<Round> => {
    let more = false
    // A copy, so that accounts that are enqueued meanwhile do not wait for one with many leads.
    for (const accountId of [...accounts]) {
      if (loops.signal.aborted) return false
      // Before, so that what is enqueued meanwhile counts.
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
    /** Makes the leads of these accounts searchable that were just committed. */
    enqueue: (leads: { accountId: number }[]): void => {
      for (const { accountId } of leads) accounts.add(accountId)
      wake()
    },
    /** Resolves when the rounds in flight are over. What is left is found at the next start. */
    stop: (): Promise<void> => loops.stop(),
  }
}
