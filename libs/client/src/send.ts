import { LeadwireProblem, problemOf } from './problem'

/** Called for each attempt, because a stream can be read only once. */
export type MakeRequest = () => Request

interface SendOptions {
  fetch: typeof fetch
  retries: number
  timeoutMs?: number
}

// 409: the first request with the key is still in flight.
const TEMPORARY = [409, 429, 502, 503, 504]

const isSafe = ({ method, headers }: Request) =>
  method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')

const passes = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    // The signal is the request's own, and is gone with it.
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const FIRST_PAUSE_MS = 250
// A longer Retry-After is an error.
const LONGEST_PAUSE_MS = 60_000

// As the response says, else twice as long each time, with jitter.
const pauseMs = (attempt: number, response: Response | undefined) => {
  const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random() / 2)
}

const unreachable = (detail: string, cause: unknown) =>
  new LeadwireProblem(0, { type: '#unreachable', title: 'No answer', detail }, { cause })

const tryOnce = async (
  request: Request,
  { fetch, timeoutMs }: SendOptions,
): Promise<Response | LeadwireProblem> => {
  const timedOut = new AbortController()
  const timer = timeoutMs && setTimeout(() => timedOut.abort(), timeoutMs)
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, timedOut.signal]) })
    clearTimeout(timer)
    // JSON that breaks off is no answer. The reader gets what the clone has read.
    if (/^application\/json/.test(response.headers.get('content-type') ?? ''))
      await response.clone().arrayBuffer()
    return response
  } catch (cause) {
    if (request.signal.aborted) throw request.signal.reason
    return timedOut.signal.aborted
      ? unreachable(`The API did not answer within ${timeoutMs! / 1000} seconds.`, cause)
      : unreachable('The API could not be reached.', cause)
  } finally {
    clearTimeout(timer)
  }
}

/** Sends a request, again where that is safe and may help. Throws LeadwireProblem unless the response is a success or 304. */
export const send = async (make: MakeRequest, options: SendOptions): Promise<Response> => {
  for (let attempt = 0; ; attempt++) {
    const request = make()
    const outcome = await tryOnce(request, options)
    const response = outcome instanceof LeadwireProblem ? undefined : outcome
    if (response?.ok || response?.status === 304) return response
    const mayHelp = !response || TEMPORARY.includes(response.status)
    const pause = pauseMs(attempt, response)
    if (attempt >= options.retries || !isSafe(request) || !mayHelp || pause > LONGEST_PAUSE_MS) {
      throw response ? await problemOf(response) : outcome
    }
    await response?.body?.cancel()
    await passes(pause, request.signal)
  }
}
