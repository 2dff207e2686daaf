import type { CallContext, ServerMiddlewareCall } from 'nice-grpc-common'
import { TooBusy } from './gather'

/** Of the ten connections to a database that a service has unless told otherwise. */
const AT_ONCE = 3
const QUEUED_AT_MOST = 1000
/** As long as a call waits for a connection. */
const MAX_WAIT_MS = 3000

interface Lane {
  running: number
  /** In the order in which they came. */
  waiting: Set<() => void>
}

const waitIn = ({ waiting }: Lane): Promise<void> =>
  new Promise((resolve, reject) => {
    const enter = () => {
      clearTimeout(timer)
      waiting.delete(enter)
      resolve()
    }
    const timer = setTimeout(() => {
      waiting.delete(enter)
      reject(new TooBusy())
    }, MAX_WAIT_MS)
    waiting.add(enter)
  })

/**
 * Of one account only three unary calls run at once. The others wait, and are refused as unavailable after 3 s: so its slow
 * statements leave connections for everybody else, however many of them it asks for. A call is an account's when its request
 * has `accountId`.
 */
export const boundAccounts = () => {
  const lanes = new Map<number, Lane>()

  const enter = async (accountId: number) => {
    const lane = lanes.get(accountId) ?? { running: 0, waiting: new Set() }
    lanes.set(accountId, lane)
    if (lane.running === AT_ONCE) {
      if (lane.waiting.size >= QUEUED_AT_MOST) throw new TooBusy()
      // Whoever leaves hands its place on.
      await waitIn(lane)
    } else lane.running += 1
  }

  const leave = (accountId: number) => {
    const lane = lanes.get(accountId)!
    const [next] = lane.waiting
    if (next) return next()
    lane.running -= 1
    if (lane.running === 0) lanes.delete(accountId)
  }

  return async function* <Request, Response>(
    call: ServerMiddlewareCall<Request, Response>,
    context: CallContext,
  ) {
    const { accountId } = call.request as { accountId?: number }
    if (accountId === undefined) return yield* call.next(call.request, context)
    await enter(accountId)
    try {
      context.signal.throwIfAborted()
      return yield* call.next(call.request, context)
    } finally {
      leave(accountId)
    }
  }
}
