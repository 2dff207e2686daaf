/** An attempt that waits longer for its receiver costs a socket and no work: it leaves its slot. */
const WAITING_AFTER_MS = 100
/** An attempt that takes longer is slow, and so is its endpoint until it answers quicker. */
const SLOW_AFTER_MS = 1000
/** The part of the slots that one statement claims, so that its end comes soon, and that slow endpoints have at most. */
const SHARE = 1 / 4
/** With more slow attempts in flight, as a multiple of the slots, none starts at endpoints of this pace; unknown: before an answer. */
const SLOW_PER_SLOT = { quick: Number.POSITIVE_INFINITY, unknown: 8, slow: 4 }

interface Endpoint {
  inFlight: number
  pace: keyof typeof SLOW_PER_SLOT
}

/**
 * Decides which attempts may start: at most `perEndpoint` at one endpoint, and `concurrency` with a slot.
 *
 * A thousand endpoints that hang must change nothing for one that answers. So an attempt has a slot only at its start, and then waits
 * without one; slow endpoints get the slots that the others leave. With `waitingAfterMs` of Infinity each attempt keeps its slot, and none
 * is slow. `onFree` is called when an attempt may start that could not before.
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
  let used = 0
  let usedBySlow = 0
  let slow = 0

  const endpointOf = (id: number): Endpoint => {
    const known = endpoints.get(id) ?? { inFlight: 0, pace: 'unknown' }
    endpoints.set(id, known)
    return known
  }

  const free = () => Math.max(0, concurrency - used)
  const claimable = () => Math.min(share, free())
  const mayStart = (pace: Endpoint['pace'], kept = 0) =>
    free() > kept && slow < concurrency * SLOW_PER_SLOT[pace]

  /** Gives out slots one by one, round-robin to accounts and to their endpoints. Returns how many are left. */
  const deal = (accounts: number[][], rooms: Map<number, number>, slots: number): number => {
    const waiting = accounts.filter(({ length }) => length > 0)
    while (slots > 0 && waiting.length > 0) {
      const ofAccount = waiting.shift()!
      const id = ofAccount.shift()!
      const room = rooms.get(id) ?? 0
      if (room + endpointOf(id).inFlight < perEndpoint) {
        rooms.set(id, room + 1)
        ofAccount.push(id)
        slots -= 1
      }
      if (ofAccount.length > 0) waiting.push(ofAccount)
    }
    return slots
  }

  return {
    /** How many deliveries may be claimed now for which of the due endpoints, given by account. */
    allot: (due: number[][]): Map<number, number> => {
      const rooms = new Map<number, number>()
      const withPace = (isSlow: boolean) =>
        due.map((ids) =>
          ids.filter((id) => {
            const { pace } = endpointOf(id)
            return (pace === 'slow') === isSlow && mayStart(pace)
          }),
        )
      const left = deal(withPace(false), rooms, claimable())
      deal(withPace(true), rooms, Math.min(left, share - usedBySlow))
      return rooms
    },
    /** Whether an attempt may start before those that wait, while `kept` slots are kept for a claim in flight. */
    hasRoomFor: (endpointId: number, kept: number): boolean => {
      const { inFlight, pace } = endpointOf(endpointId)
      return inFlight < perEndpoint && mayStart(pace, kept) && (pace !== 'slow' || usedBySlow < share)
    },
    claimable,
    /** Starts an attempt. Returns the function that ends it. */
    start: (endpointId: number): (() => void) => {
      const endpoint = endpointOf(endpointId)
      const startedSlow = endpoint.pace === 'slow'
      let hasSlot = true
      let isSlow = false
      let timer: NodeJS.Timeout | undefined
      endpoint.inFlight += 1
      used += 1
      if (startedSlow) usedBySlow += 1
      const leaveSlot = () => {
        if (!hasSlot) return
        hasSlot = false
        used -= 1
        if (startedSlow) usedBySlow -= 1
        onFree()
      }
      const becomeSlow = () => {
        isSlow = true
        endpoint.pace = 'slow'
        slow += 1
      }
      if (waitingAfterMs !== Number.POSITIVE_INFINITY)
        timer = setTimeout(() => {
          leaveSlot()
          timer = setTimeout(becomeSlow, SLOW_AFTER_MS - waitingAfterMs)
        }, waitingAfterMs)
      return () => {
        clearTimeout(timer)
        leaveSlot()
        if (isSlow) slow -= 1
        endpoint.pace = isSlow ? 'slow' : 'quick'
        endpoint.inFlight -= 1
        onFree()
      }
    },
    inUse: (): number => used,
  }
}

export type Slots = ReturnType<typeof createSlots>
