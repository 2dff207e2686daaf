/**
 * An attempt gives its slot back after this time. From then on, the attempt only waits for its receiver and
 * needs no CPU.
 */
const WAITING_AFTER_MS = 100
/**
 * An attempt that takes longer than this is slow. Its endpoint is then also slow, until an attempt takes less
 * time.
 */
const SLOW_AFTER_MS = 1000
/**
 * The largest part of the slots that one claim may take, so that its statement stays short. Also the largest
 * part of the slots that slow endpoints may have.
 */
const SHARE = 1 / 4
/** The part of all attempt starts that is reserved for failing endpoints. */
const FAILING_SHARE = 1 / 4
/**
 * Limits for the number of slow attempts in flight, counted over all endpoints. Each pace has its own limit,
 * as a multiple of the number of slots. While as many slow attempts are in flight as the limit of a pace
 * allows, no attempt starts at endpoints of this pace. The pace of an endpoint is unknown until its first
 * attempt has ended or is slow.
 */
const SLOW_PER_SLOT = { quick: Number.POSITIVE_INFINITY, unknown: 8, slow: 4 }

interface Endpoint {
  inFlight: number
  pace: keyof typeof SLOW_PER_SLOT
  /**
   * Whether the last attempt of this process at the endpoint failed. The endpoint's reports (`../report`) use
   * another rule to decide whether the endpoint is failing.
   */
  isFailing: boolean
}

/**
 * Decides which attempts may start. At most `perEndpoint` attempts are in flight at one endpoint, and at most
 * `concurrency` attempts have a slot.
 *
 * A thousand endpoints that hang must not delay an endpoint that responds. So an attempt has a slot only
 * while it starts, and waits for its receiver without a slot. Slots go to healthy endpoints first. A quarter
 * of the starts is reserved for failing endpoints, so that their retries are on time. Slow endpoints get the
 * remaining slots. If `waitingAfterMs` is Infinity, each attempt keeps its slot, and no endpoint is slow.
 *
 * `onFree` is called after an attempt gives its slot back, and after an attempt ends.
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
  /** How many slow attempts are in flight. */
  let slowInFlight = 0
  /** How many of the next starts are reserved for attempts at failing endpoints. May be a fraction. */
  let failingCredit = 0

  const getEndpoint = (id: number): Endpoint => {
    const known = endpoints.get(id) ?? { inFlight: 0, pace: 'unknown', isFailing: false }
    endpoints.set(id, known)
    return known
  }

  const free = () => Math.max(0, concurrency - used)
  const claimable = () => Math.min(share, free())
  const mayStart = (pace: Endpoint['pace'], kept = 0) =>
    free() > kept && slowInFlight < concurrency * SLOW_PER_SLOT[pace]

  /**
   * Assigns slots one by one: to accounts in turn, and within an account to its endpoints in turn. Returns
   * how many slots are left.
   */
  const deal = (accounts: number[][], rooms: Map<number, number>, slots: number): number => {
    const waiting = accounts.filter(({ length }) => length > 0)
    while (slots > 0 && waiting.length > 0) {
      const ofAccount = waiting.shift()!
      const id = ofAccount.shift()!
      const room = rooms.get(id) ?? 0
      if (room + getEndpoint(id).inFlight < perEndpoint) {
        rooms.set(id, room + 1)
        ofAccount.push(id)
        slots -= 1
      }
      if (ofAccount.length > 0) waiting.push(ofAccount)
    }
    return slots
  }

  return {
    /**
     * Returns how many deliveries of each due endpoint may be claimed now. `due` lists the due endpoints of
     * each account.
     */
    allot: (due: number[][]): Map<number, number> => {
      const rooms = new Map<number, number>()
      const choose = (isChosen: (endpoint: Endpoint) => boolean) =>
        due.map((ids) =>
          ids.filter((id) => {
            const endpoint = getEndpoint(id)
            return isChosen(endpoint) && mayStart(endpoint.pace)
          }),
        )
      const healthy = choose(({ pace, isFailing }) => pace !== 'slow' && !isFailing)
      const failing = choose(({ pace, isFailing }) => pace !== 'slow' && isFailing)
      const slow = choose(({ pace }) => pace === 'slow')

      const total = claimable()
      const hasFailing = failing.some((ids) => ids.length > 0)
      failingCredit = hasFailing ? Math.min(share, failingCredit + total * FAILING_SHARE) : 0
      const reserved = Math.min(total, Math.floor(failingCredit))
      const afterHealthy = reserved + deal(healthy, rooms, total - reserved)
      const afterFailing = deal(failing, rooms, afterHealthy)
      failingCredit = Math.max(0, failingCredit - (afterHealthy - afterFailing))
      deal(slow, rooms, Math.min(afterFailing, share - usedBySlow))
      return rooms
    },
    /** Returns whether an attempt may start now, if `kept` slots are reserved for a claim that is running. */
    hasRoomFor: (endpointId: number, kept: number): boolean => {
      const { inFlight, pace } = getEndpoint(endpointId)
      return inFlight < perEndpoint && mayStart(pace, kept) && (pace !== 'slow' || usedBySlow < share)
    },
    claimable,
    isFailing: (endpointId: number): boolean => endpoints.get(endpointId)?.isFailing === true,
    /**
     * Starts an attempt. Returns the function to call when the attempt has ended. The argument of this
     * function is whether the attempt failed, or undefined if the attempt does not count.
     */
    start: (endpointId: number): ((hasFailed: boolean | undefined) => void) => {
      const endpoint = getEndpoint(endpointId)
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
        slowInFlight += 1
      }
      if (waitingAfterMs !== Number.POSITIVE_INFINITY)
        timer = setTimeout(() => {
          leaveSlot()
          timer = setTimeout(becomeSlow, SLOW_AFTER_MS - waitingAfterMs)
        }, waitingAfterMs)
      return (hasFailed) => {
        clearTimeout(timer)
        leaveSlot()
        if (isSlow) slowInFlight -= 1
        if (hasFailed !== undefined) {
          endpoint.isFailing = hasFailed
          endpoint.pace = isSlow ? 'slow' : 'quick'
        }
        endpoint.inFlight -= 1
        onFree()
      }
    },
    inUse: (): number => used,
  }
}

export type Slots = ReturnType<typeof createSlots>
