/**
 * Shares for endpoints that answer quickly, that have not answered this process yet, and that are slow.
 *
 * `slots`: of all slots. No lane can fill them, so each always moves; the known-good have the most and are served first.
 * `claim`: of the slots, for one claim. Those that are quick wait for no longer statement.
 * `waiting`: of the room for those that wait.
 */
const LANES = {
  quick: { slots: 3 / 4, claim: 1, waiting: Infinity },
  unknown: { slots: 3 / 8, claim: 1 / 8, waiting: 1 },
  slow: { slots: 3 / 8, claim: 1 / 8, waiting: 3 / 4 },
}

/** How an endpoint has been answering: `unknown` before its first answer to this process. */
type Pace = keyof typeof LANES

interface Endpoint {
  inFlight: number
  pace: Pace
}

/** An attempt that is under way, as `start` gives it out and `finish` takes it back. */
export interface Running {
  endpoint: Endpoint
  lane: Pace
  startedAt: number
}

/**
 * Claims leave this share of the slots to deliveries that begin as they are stored. Without it an account whose backlog
 * fills a lane delays all others' fresh ones until the backlog's end (seen: by 2.4 s behind fan-outs of 3,000).
 */
const SHARE_FOR_FRESH = 1 / 8

/** An attempt that waits longer for its receiver costs a socket and no work: it gives its slot to another. */
const WAITING_AFTER_MS = 100
/** An endpoint that takes longer to answer is slow until it answers quicker. */
const SLOW_AFTER_MS = 1000
/** How many attempts may wait for receivers that are not known to be quick, as a multiple of the slots. */
const WAITING_PER_SLOT = 8

/** The attempts under way, by endpoint and by lane. */
const createRunning = (now: () => number, waitingAfterMs: number) => {
  const endpoints = new Map<number, Endpoint>()
  // Both in the order of their start.
  const young = new Set<Running>()
  const waiting = new Set<Running>()
  const atWork: Record<Pace, number> = { quick: 0, unknown: 0, slow: 0 }
  const inFlight: Record<Pace, number> = { quick: 0, unknown: 0, slow: 0 }

  const endpointOf = (id: number): Endpoint => {
    let endpoint = endpoints.get(id)
    if (!endpoint) {
      endpoint = { inFlight: 0, pace: 'unknown' }
      endpoints.set(id, endpoint)
    }
    return endpoint
  }

  const age = () => {
    for (const running of young) {
      if (now() - running.startedAt < waitingAfterMs) break
      young.delete(running)
      waiting.add(running)
      atWork[running.lane] -= 1
    }
    for (const running of waiting) {
      if (now() - running.startedAt < SLOW_AFTER_MS) break
      waiting.delete(running)
      inFlight[running.lane] -= 1
      inFlight.slow += 1
      running.lane = 'slow'
      running.endpoint.pace = 'slow'
    }
  }

  return {
    young,
    /** Those that are young, in each lane. */
    atWork,
    inFlight,
    endpointOf,
    /** Has those that are no longer young wait, and those that have waited long count as slow. */
    age,
    start: (endpointId: number): Running => {
      const endpoint = endpointOf(endpointId)
      const running = { endpoint, lane: endpoint.pace, startedAt: now() }
      endpoint.inFlight += 1
      atWork[running.lane] += 1
      inFlight[running.lane] += 1
      young.add(running)
      return running
    },
    drop: (running: Running): void => {
      age()
      if (young.delete(running)) atWork[running.lane] -= 1
      waiting.delete(running)
      inFlight[running.lane] -= 1
      running.endpoint.inFlight -= 1
    },
  }
}

/**
 * Decides who may send: at most `perEndpoint` attempts at one endpoint, and `concurrency` attempts at work at once.
 *
 * A thousand endpoints that hang must change nothing for one that answers. No fixed number of slots gives that when
 * each attempt holds one until its time is up, so an attempt holds a slot only while it is young, and then waits in
 * a much larger room that endpoints of unknown or slow pace share; who is known to be quick is let past them.
 *
 * `now` is monotonic, in milliseconds. With `waitingAfterMs` at Infinity each attempt keeps its slot to its end.
 */
export const createSlots = (options: {
  concurrency: number
  perEndpoint: number
  waitingAfterMs?: number | undefined
  now: () => number
}) => {
  const { concurrency, perEndpoint, waitingAfterMs = WAITING_AFTER_MS, now } = options
  const forFresh = Math.floor(concurrency * SHARE_FOR_FRESH)
  const { young, atWork, inFlight, endpointOf, age, start, drop } = createRunning(now, waitingAfterMs)

  const roomIn = (lane: Pace, { given = 0, fresh = false } = {}): number => {
    const slots = Math.min(
      Math.ceil(concurrency * LANES[lane].slots) - atWork[lane] + (fresh ? forFresh : 0),
      Math.ceil(concurrency * LANES[lane].claim),
      concurrency - young.size - given - (fresh ? 0 : forFresh),
    )
    const waitingRoom = concurrency * WAITING_PER_SLOT * LANES[lane].waiting
    return Math.min(slots, waitingRoom - inFlight.unknown - inFlight.slow)
  }

  const hold = (endpointId: number, count: number): Running[] =>
    Array.from({ length: count }, () => start(endpointId))

  return {
    /** How many deliveries may be claimed for which of these endpoints; who comes first is served first. */
    allot: (due: Iterable<number>): Map<number, number> => {
      age()
      const ready: Record<Pace, [number, Endpoint][]> = { quick: [], unknown: [], slow: [] }
      for (const id of due) {
        const endpoint = endpointOf(id)
        if (endpoint.inFlight < perEndpoint) ready[endpoint.pace].push([id, endpoint])
      }
      const rooms = new Map<number, number>()
      let given = 0
      for (const lane of ['quick', 'unknown', 'slow'] as const) {
        let free = roomIn(lane, { given })
        let left = ready[lane].length
        for (const [id, endpoint] of ready[lane]) {
          if (free < 1) break
          const room = Math.min(perEndpoint - endpoint.inFlight, Math.max(1, Math.floor(free / left)))
          rooms.set(id, room)
          free -= room
          given += room
          left -= 1
        }
      }
      return rooms
    },
    start,
    /** Starts `count` attempts at one endpoint. */
    hold,
    /** Starts up to `wanted` attempts of fresh deliveries at one endpoint, as far as it may send now. */
    take: (endpointId: number, wanted: number): Running[] => {
      age()
      const { pace, inFlight: busy } = endpointOf(endpointId)
      const room = Math.min(wanted, perEndpoint - busy, Math.floor(roomIn(pace, { fresh: true })))
      return hold(endpointId, Math.max(0, room))
    },
    finish: (running: Running): void => {
      drop(running)
      running.endpoint.pace = now() - running.startedAt < SLOW_AFTER_MS ? 'quick' : 'slow'
    },
    /** Takes back a start that came to nothing. */
    drop,
    /** How many slots are held. */
    inUse: (): number => {
      age()
      return young.size
    },
    /** In how many milliseconds the next attempt gives its slot away by waiting; undefined when none will. */
    nextFreeIn: (): number | undefined => {
      for (const { startedAt } of young) return Math.max(0, startedAt + waitingAfterMs - now())
      return undefined
    },
  }
}

export type Slots = ReturnType<typeof createSlots>
