/*
 * Bounds the work in flight, for each account and in total, and admits accounts in turn.
 *
 * States of work (`fair-queue.spec.ts` proves them):
 *
 * - admitted: the work fits into the account's share and into the capacity. It counts until its release.
 * - waiting: the work does not fit, or other work of its account is already waiting. Each release admits
 *   waiting work that fits, one piece of each account in turn. Waiting is cheaper than refusing, because a
 *   refused client repeats its request at once.
 * - refused as TooBusy: the work waited for `maxWaitMs`, or its account already has its share of the
 *   waiting work.
 *
 * Work that costs more than its share is admitted when no other work of its account is in flight. Work that
 * costs more than the capacity is admitted when no work at all is in flight.
 */
import { TooBusy } from '../errors/service-error'
import type { BatcherMeter } from './queue-meters'

/** The work of one account. Deleted when the account has no work. */
interface AccountQueue {
  /** The cost of the admitted work. */
  admittedCost: number
  /**
   * The waiting work in order of arrival. A set is used, because work that has waited for too long is removed
   * from the middle.
   */
  waiting: Set<WaitingWork>
}

interface WaitingWork {
  cost: number
  /** Admits the work. */
  admit: () => void
}

/** Releases the admitted work. Call it once. */
type Release = () => void

/**
 * Makes the function that admits work. That function resolves with the function to call when the work is
 * done. Without `maxWaiting`, work that does not fit is refused at once. `Account` is the type of the key
 * that has a share. By default the key is the id of an account.
 */
export const createFairQueue = <Account = number>(options: {
  /** Returns the maximum cost of one account's admitted work, while `accounts` accounts have work. */
  computeShare: (accounts: number) => number
  /** The maximum cost of all admitted work. By default there is no bound. */
  capacity?: number
  /**
   * The maximum number of pieces of work that wait. Accounts have equal shares, and one share is kept free
   * for the next account.
   */
  maxWaiting?: number
  maxWaitMs?: number
  meter?: BatcherMeter | undefined
}): ((account: Account, cost?: number) => Promise<Release>) => {
  const { computeShare, capacity = Number.POSITIVE_INFINITY, maxWaiting = 0, maxWaitMs = 0, meter } = options
  // The account that is served next comes first.
  const queues = new Map<Account, AccountQueue>()
  let allAdmittedCost = 0
  let allWaitingCount = 0
  meter?.watch(() => allWaitingCount)

  const fits = ({ admittedCost }: AccountQueue, cost: number): boolean => {
    const fitsCapacity = allAdmittedCost === 0 || allAdmittedCost + cost <= capacity
    const fitsShare = admittedCost === 0 || admittedCost + cost <= computeShare(queues.size)
    return fitsCapacity && fitsShare
  }

  const deleteIfEmpty = (account: Account, queue: AccountQueue): void => {
    if (queue.admittedCost === 0 && queue.waiting.size === 0) queues.delete(account)
  }

  const admit = (account: Account, queue: AccountQueue, cost: number): Release => {
    allAdmittedCost += cost
    queue.admittedCost += cost
    return () => {
      allAdmittedCost -= cost
      queue.admittedCost -= cost
      deleteIfEmpty(account, queue)
      if (allWaitingCount > 0) admitWaiting()
    }
  }

  const admitWaiting = (): void => {
    // The loop moves an account to the end of the map after admitting its work, and so visits the account
    // again.
    for (const [account, queue] of queues) {
      const [next] = queue.waiting
      if (!next || !fits(queue, next.cost)) continue
      next.admit()
      queues.delete(account)
      queues.set(account, queue)
    }
  }

  const refuse = (account: Account, queue: AccountQueue): TooBusy => {
    deleteIfEmpty(account, queue)
    meter?.refused()
    return new TooBusy()
  }

  const wait = (account: Account, queue: AccountQueue, cost: number): Promise<Release> =>
    new Promise((resolve, reject) => {
      const stopWaiting = () => {
        clearTimeout(timer)
        queue.waiting.delete(work)
        allWaitingCount -= 1
      }
      const timer = setTimeout(() => {
        stopWaiting()
        reject(refuse(account, queue))
      }, maxWaitMs)
      const work: WaitingWork = {
        cost,
        admit: () => {
          stopWaiting()
          resolve(admit(account, queue, cost))
        },
      }
      queue.waiting.add(work)
      allWaitingCount += 1
    })

  return async (account, cost = 1) => {
    const queue = queues.get(account) ?? { admittedCost: 0, waiting: new Set() }
    queues.set(account, queue)
    if (queue.waiting.size === 0 && fits(queue, cost)) return admit(account, queue, cost)
    const maxWaitingOfAccount = maxWaiting / (queues.size + 1)
    if (queue.waiting.size < maxWaitingOfAccount) return wait(account, queue, cost)
    throw refuse(account, queue)
  }
}

/** Runs work when its account's turn comes. Rejects with TooBusy if the wait takes too long. */
export type RunInTurn = <Result>(accountId: number, work: () => Promise<Result>) => Promise<Result>

/** How long work waits for its turn: as long as the time limit of a request. */
const MAX_TURN_WAIT_MS = 10_000

/**
 * Makes a queue that runs at most `atOnce` pieces of work at a time, of which at most `ofAccount` belong to
 * one account. Accounts are served in turn. The queue bounds how many connections to PostgreSQL one kind of
 * work uses, however many gateways call.
 */
export const createTurns = (
  atOnce: number,
  meter: BatcherMeter | undefined,
  ofAccount = atOnce,
): RunInTurn => {
  const enter = createFairQueue({
    computeShare: () => ofAccount,
    capacity: atOnce,
    maxWaiting: 1000,
    maxWaitMs: MAX_TURN_WAIT_MS,
    meter,
  })
  return async (accountId, work) => {
    const leave = await enter(accountId)
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
