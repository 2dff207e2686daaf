import { setTimeout as pause, setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { type CallLimits, createBatcher } from '@leadwire/service-kit'

/** Reading and checking 600 KB of JSON takes a processor 150 ms, in which nobody else is served; 64 KiB take 15. */
const LARGE_BYTES = 64 * 1024
/** How long others are served between two large bodies. */
const REST_MS = 20
/** After so long without one the next waits for nobody. */
const IDLE_MS = 500

/**
 * Large bodies are parsed one at a time, with a pause between, and accounts take turns: forty at once would hold up all
 * other requests until the last of them is checked (seen: 8 s). One whose request is late meanwhile is not parsed at all.
 */
export const createLargeBodies = () => {
  let lastAt = Number.NEGATIVE_INFINITY
  const turn = createBatcher<number, unknown>({
    send: async (accounts) => {
      // The body before is parsed and handed on before this resolves.
      await turnOfTheLoop()
      if (performance.now() - lastAt < IDLE_MS) await pause(REST_MS)
      lastAt = performance.now()
      return accounts
    },
    maxBatch: 1,
    maxInFlight: 1,
    maxQueued: 10_000,
    queueOf: (accountId) => accountId,
  })
  return async (
    bytes: Buffer,
    accountId: number,
    limits: Pick<CallLimits, 'deadline' | 'isGone'>,
  ): Promise<void> => {
    if (bytes.length > LARGE_BYTES) await turn(accountId, limits)
  }
}
