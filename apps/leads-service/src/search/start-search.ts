import { createLoops, type Database, type Logger } from '@leadwire/service-kit'
import { findBehind, indexLeads } from './index-leads'

/**
 * Writes the words that leads are found by, after they were committed: of accounts that this process has just written to within
 * a quarter of a second, and of those that a crash or a new format left behind by a look at 1,000 accounts every two seconds.
 */
export const startSearch = ({ database, logger }: { database: Database; logger: Logger }) => {
  const loops = createLoops(logger)
  const accounts = new Set<number>()
  let looked = 0
  let stopped = false

  const index = async (): Promise<boolean> => {
    let more = false
    // A copy, so that accounts with much to do take turns with those that come meanwhile.
    for (const accountId of [...accounts]) {
      if (stopped) return false
      // Before, so that what is enqueued meanwhile counts.
      accounts.delete(accountId)
      const state = await indexLeads(database, accountId, { skip: true }).catch((error: unknown) => {
        accounts.add(accountId)
        throw error
      })
      if (state !== 'done') accounts.add(accountId)
      more ||= state === 'more'
    }
    return more
  }
  const look = async (): Promise<boolean> => {
    const { behind, last = 0 } = await findBehind(database, looked)
    looked = last
    for (const accountId of behind) accounts.add(accountId)
    return false
  }

  loops.run('search', 250, index)
  loops.run('search look', 2000, look)
  return {
    /** Makes the leads of these accounts searchable that were just committed. */
    enqueue: (leads: { accountId: number }[]): void => {
      for (const { accountId } of leads) accounts.add(accountId)
    },
    /** Resolves when the rounds under way are over. What is left is found at the next start. */
    stop: async (): Promise<void> => {
      stopped = true
      await loops.stop()
    },
  }
}
