import { setTimeout as pause } from 'node:timers/promises'
import { TooBusy } from '@leadwire/service-kit'
import type { FastifyRequest } from 'fastify'
import type { Admission } from '../admission/admission'

/** Reading and checking 600 KB of JSON takes a processor 150 ms, in which no other request is served; 64 KiB take 15. */
const LARGE_BYTES = 64 * 1024
/** How long others are served between two large bodies. */
const REST_MS = 20
/** After so long without a large body the next one does not wait. */
const IDLE_MS = 500

/**
 * Parses large bodies one at a time, with a pause between: forty at once would hold up all other requests until the last of them is
 * checked (seen: 8 s). A body whose request has timed out meanwhile is not parsed.
 */
export const createLargeBodyParser = ({ largeBodies }: Admission) => {
  let lastAt = Number.NEGATIVE_INFINITY
  return async <T>({ principal, deadline, socket }: FastifyRequest, parse: () => T): Promise<T> => {
    const leave = await largeBodies(principal?.accountId ?? 0)
    try {
      if (performance.now() - lastAt < IDLE_MS) await pause(REST_MS)
      if (deadline.getTime() <= Date.now() || socket.destroyed) throw new TooBusy()
      return parse()
    } finally {
      lastAt = performance.now()
      leave()
    }
  }
}

export const isLarge = (bytes: Buffer): boolean => bytes.length > LARGE_BYTES
