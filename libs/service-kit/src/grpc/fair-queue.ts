import { TooBusy } from './batcher'
import type { BatcherMeter } from './batcher-metrics'

interface Waiting {
  cost: number
  enter: () => void
}

interface Lane {
  /** What its work inside costs. */
  inside: number
  /** In the order in which they came. */
  waiting: Set<Waiting>
}

/** Resolves, when the work has come in, to what is called when it leaves. Rejects as too busy. */
export type Enter = (accountId: number, cost?: number) => Promise<() => void>

/**
 * Bounds what is worked on at once, for each account and in all. What is too much waits, as long as it may, and is refused then:
 * so a client that asks again and again is answered no faster than that, and refusals take little of the processor. Accounts
 * take turns.
 *
 * `shareOf` is what the work of one account may cost, where so many accounts work or wait. What alone costs more comes in alone.
 * `meter` is told what waits and what is refused.
 */
export const createFairQueue = (options: {
  shareOf: (accounts: number) => number
  /** What all work may cost. */
  capacity?: number
  /** How many wait in all, in equal shares, with one more for whoever comes next. Beyond them an account is refused at once. */
  maxWaiting: number
  maxWaitMs: number
  meter?: BatcherMeter | undefined
}): Enter => {
  const { shareOf, capacity = Number.POSITIVE_INFINITY, maxWaiting, maxWaitMs, meter } = options
  // In the order of their turns.
  const lanes = new Map<number, Lane>()
  let inside = 0
  let waitingInAll = 0
  meter?.watch(() => waitingInAll)

  const forget = (accountId: number, lane: Lane) => {
    if (lane.inside === 0 && lane.waiting.size === 0) lanes.delete(accountId)
  }

  const fits = (lane: Lane, cost: number) =>
    (inside === 0 || inside + cost <= capacity) &&
    (lane.inside === 0 || lane.inside + cost <= shareOf(lanes.size))

  const goIn = (accountId: number, lane: Lane, cost: number) => {
    inside += cost
    lane.inside += cost
    return () => {
      inside -= cost
      lane.inside -= cost
      forget(accountId, lane)
      if (waitingInAll > 0) letIn()
    }
  }

  const refuse = () => {
    meter?.refused()
    return new TooBusy()
  }

  const waitIn = (accountId: number, lane: Lane, cost: number) =>
    new Promise<() => void>((resolve, reject) => {
      const stopWaiting = () => {
        lane.waiting.delete(waiting)
        waitingInAll -= 1
      }
      const timer = setTimeout(() => {
        stopWaiting()
        forget(accountId, lane)
        reject(refuse())
      }, maxWaitMs)
      const enter = () => {
        clearTimeout(timer)
        stopWaiting()
        resolve(goIn(accountId, lane, cost))
      }
      const waiting = { cost, enter }
      lane.waiting.add(waiting)
      waitingInAll += 1
    })

  const letIn = () => {
    // A lane that is set again comes again in this loop, behind the others.
    for (const [accountId, lane] of lanes) {
      const [next] = lane.waiting
      if (!next || !fits(lane, next.cost)) continue
      next.enter()
      lanes.delete(accountId)
      lanes.set(accountId, lane)
    }
  }

  return async (accountId, cost = 1) => {
    const lane = lanes.get(accountId) ?? { inside: 0, waiting: new Set() }
    lanes.set(accountId, lane)
    if (lane.waiting.size === 0 && fits(lane, cost)) return goIn(accountId, lane, cost)
    if (lane.waiting.size < maxWaiting / (lanes.size + 1)) return waitIn(accountId, lane, cost)
    forget(accountId, lane)
    throw refuse()
  }
}
