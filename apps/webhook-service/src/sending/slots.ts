/** An attempt that waits longer for its receiver costs a socket and no work: it gives its slot to another. */
const WAITING_AFTER_MS = 100
/** An attempt that takes longer is late, and its endpoint slow until it answers quicker. */
const LATE_AFTER_MS = 1000
/** Of the slots, what one statement claims, so that nobody waits long for its end, and what slow endpoints hold at most. */
const SHARE = 1 / 4
/**
 * With more late attempts under way, as a multiple of the slots, nothing starts at endpoints of this pace. One is unknown before its first
 * answer to this process.
 */
const LATE_PER_SLOT = { quick: Number.POSITIVE_INFINITY, unknown: 8, slow: 4 }

interface Endpoint {
  underWay: number
  pace: keyof typeof LATE_PER_SLOT
}

/** An attempt that is under way, as `start` gives it out and `finish` takes it back. */
export interface Running {
  endpoint: Endpoint
  /** Whether it began at a slow endpoint. */
  slow: boolean
  holdsSlot: boolean
  late: boolean
  timer: NodeJS.Timeout | undefined
}

/**
 * Decides who may send: at most `perEndpoint` attempts at one endpoint, and `concurrency` attempts at work at once.
 *
 * A thousand endpoints that hang must change nothing for one that answers. No fixed number of slots gives that when each
 * attempt holds one until its time is up, so an attempt holds a slot only at its beginning, and then waits without one. Slow
 * endpoints get what the others leave.
 *
 * `onFree` is called when somebody may start who might not before. With `waitingAfterMs` at Infinity each attempt keeps its
 * slot to its end, and none is late.
 */
export const createSlots = (options: {
  concurrency: number
  perEndpoint: number
  waitingAfterMs?: number | undefined
  onFree: () => void
}) => {
  const { concurrency, perEndpoint, waitingAfterMs = WAITING_AFTER_MS, onFree } = options
  const share = Math.ceil(concurrency * SHARE)
  const endpoints = new Map<number, Endpoint>()
  let atWork = 0
  let slowAtWork = 0
  let late = 0

  const endpointOf = (id: number): Endpoint => {
    const known = endpoints.get(id) ?? { underWay: 0, pace: 'unknown' }
    endpoints.set(id, known)
    return known
  }

  const free = () => Math.max(0, concurrency - atWork)
  const claimable = () => Math.min(share, free())
  const maySend = (pace: Endpoint['pace'], kept = 0) =>
    free() > kept && late < concurrency * LATE_PER_SLOT[pace]

  const leaveSlot = (running: Running) => {
    if (!running.holdsSlot) return
    running.holdsSlot = false
    atWork -= 1
    if (running.slow) slowAtWork -= 1
    onFree()
  }

  const becomeLate = (running: Running) => {
    running.late = true
    running.endpoint.pace = 'slow'
    late += 1
  }

  /** Gives slots one by one: to accounts in turn, and to the endpoints of each in turn. Answers with how many are left. */
  const deal = (accounts: number[][], rooms: Map<number, number>, slots: number): number => {
    const turns = accounts.filter(({ length }) => length > 0)
    while (slots > 0 && turns.length > 0) {
      const ofAccount = turns.shift()!
      const id = ofAccount.shift()!
      const room = rooms.get(id) ?? 0
      if (room + endpointOf(id).underWay < perEndpoint) {
        rooms.set(id, room + 1)
        ofAccount.push(id)
        slots -= 1
      }
      if (ofAccount.length > 0) turns.push(ofAccount)
    }
    return slots
  }

  return {
    /** How many deliveries may be claimed now for which of the endpoints that are due, by their accounts. */
    allot: (due: number[][]): Map<number, number> => {
      const rooms = new Map<number, number>()
      const those = (slow: boolean) =>
        due.map((ids) =>
          ids.filter((id) => {
            const { pace } = endpointOf(id)
            return (pace === 'slow') === slow && maySend(pace)
          }),
        )
      const left = deal(those(false), rooms, claimable())
      deal(those(true), rooms, Math.min(left, share - slowAtWork))
      return rooms
    },
    /** Whether an attempt that waited for nobody may start, while so many slots are kept for what is being claimed. */
    hasRoomFor: (endpointId: number, kept: number): boolean => {
      const { underWay, pace } = endpointOf(endpointId)
      return underWay < perEndpoint && maySend(pace, kept) && (pace !== 'slow' || slowAtWork < share)
    },
    /** How many deliveries one statement may claim now. */
    claimable,
    start: (endpointId: number): Running => {
      const endpoint = endpointOf(endpointId)
      const slow = endpoint.pace === 'slow'
      const running: Running = { endpoint, slow, holdsSlot: true, late: false, timer: undefined }
      endpoint.underWay += 1
      atWork += 1
      if (slow) slowAtWork += 1
      if (waitingAfterMs === Number.POSITIVE_INFINITY) return running
      running.timer = setTimeout(() => {
        leaveSlot(running)
        running.timer = setTimeout(becomeLate, LATE_AFTER_MS - waitingAfterMs, running)
      }, waitingAfterMs)
      return running
    },
    finish: (running: Running): void => {
      const { endpoint } = running
      clearTimeout(running.timer)
      leaveSlot(running)
      if (running.late) late -= 1
      endpoint.pace = running.late ? 'slow' : 'quick'
      endpoint.underWay -= 1
      onFree()
    },
    /** How many slots are held. */
    inUse: (): number => atWork,
  }
}

export type Slots = ReturnType<typeof createSlots>
