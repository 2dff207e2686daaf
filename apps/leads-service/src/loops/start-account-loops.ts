import { setTimeout as pause } from 'node:timers/promises'
import { createLoops, type Logger, type Round } from '@leadwire/service-kit'

/** The maximum number of accounts that one statement of the poll reads. */
export const POLLED_ACCOUNTS = 1000

/** The accounts with work among the accounts that were read. */
export interface Polled {
  behind: number[]
  /** The last account that was read. undefined if no more accounts follow. */
  last: number | undefined
}

/** Converts the rows of a poll, which are in the order of the accounts. */
export const listPolled = (rows: { id: number; behind: boolean }[]): Polled => ({
  behind: rows.filter(({ behind }) => behind).map(({ id }) => id),
  last: rows.length < POLLED_ACCOUNTS ? undefined : rows.at(-1)!.id,
})

/** Work that follows the commits of accounts, such as the search index. */
interface AccountWork {
  /** The name of the loop in logs. */
  name: string
  logger: Logger
  /** Works on one batch of an account. `busy`: another copy works on the account. */
  work: (accountId: number) => Promise<'done' | 'more' | 'busy'>
  /** Finds accounts with work among the next POLLED_ACCOUNTS accounts that follow `after`. */
  findBehind: (after: number) => Promise<Polled>
  /** The pause after a batch, as a multiple of the time that the batch took. It gives creates priority. */
  pauseFactor: number
  /** The shortest time between two rounds, in milliseconds. */
  pauseMs: number
}

/**
 * Starts two loops. The first loop works on enqueued accounts, one batch of each account in turn. After a
 * commit, this process enqueues the accounts with new work. The second loop polls all accounts, and enqueues
 * accounts with work that sent no event, or that a crash or another process has left.
 */
export const startAccountLoops = ({
  name,
  logger,
  work,
  findBehind,
  pauseFactor,
  pauseMs,
}: AccountWork): {
  /** Enqueues the accounts of changes that were just committed. */
  enqueue: (changes: { accountId: number }[]) => void
  /**
   * Stops both loops. Resolves when the rounds in flight have ended. After the next start, the poll finds the
   * remaining work.
   */
  stop: () => Promise<void>
} => {
  const loops = createLoops(logger)
  const accounts = new Set<number>()
  let polled = 0

  const workOnAccounts = async (): Promise<Round> => {
    let more = false
    // Iterates over a copy, because the loop over the set itself would also visit the accounts that are added
    // again below, and might never end.
    for (const accountId of [...accounts]) {
      if (loops.signal.aborted) return false
      // Deletes the account before the work starts, because changes that are committed during the work must
      // enqueue the account again.
      accounts.delete(accountId)
      const startedAt = performance.now()
      const state = await work(accountId).catch((error: unknown) => {
        accounts.add(accountId)
        throw error
      })
      if (state !== 'done') accounts.add(accountId)
      more ||= state === 'more'
      const { signal } = loops
      await pause(pauseFactor * (performance.now() - startedAt), undefined, { signal }).catch(() => undefined)
    }
    return more || (accounts.size > 0 && 'pause')
  }
  const poll = async (): Promise<Round> => {
    const { behind, last } = await findBehind(polled)
    polled = last ?? 0
    for (const accountId of behind) accounts.add(accountId)
    if (behind.length > 0) wake()
    // The pause grows only if there are no more accounts to read. Otherwise, a poll of many accounts would
    // take minutes.
    return (behind.length > 0 || last !== undefined) && 'pause'
  }

  const wake = loops.run(name, { pauseMs, idleMs: 60_000 }, workOnAccounts)
  loops.run(`${name} poll`, { pauseMs: 250 }, poll)
  return {
    enqueue: (changes) => {
      for (const { accountId } of changes) accounts.add(accountId)
      wake()
    },
    stop: () => loops.stop(),
  }
}
