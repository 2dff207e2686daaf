import { LeadwireProblem, readProblem } from './problem'

/** Creates a request. Called for each attempt, because the body of a request can be read only once. */
export type MakeRequest = () => Request

interface SendOptions {
  fetch: typeof fetch
  retries: number
  timeoutMs?: number
}

// 409 means that another request with the same idempotency key is in flight.
const TEMPORARY = [409, 429, 502, 503, 504]

const isSafe = ({ method, headers }: Request) =>
  method === 'GET' || method === 'HEAD' || headers.has('idempotency-key')

const pause = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    // The listener need not be removed, because the signal belongs to one request.
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

const FIRST_PAUSE_MS = 250
// If Retry-After asks for a longer pause, `send` throws the error response instead of waiting.
const LONGEST_PAUSE_MS = 60_000

// Returns the pause that Retry-After requests, or otherwise a pause that doubles each time, with jitter.
const choosePauseMs = (attempt: number, response: Response | undefined) => {
  const seconds = Number(response?.headers.get('retry-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : FIRST_PAUSE_MS * 2 ** attempt * (0.5 + Math.random() / 2)
}

const createUnreachable = (detail: string, cause: unknown) =>
  new LeadwireProblem(0, { type: '#unreachable', title: 'No response', detail }, { cause })

const tryOnce = async (
  request: Request,
  { fetch, timeoutMs }: SendOptions,
): Promise<Response | LeadwireProblem> => {
  const timedOut = new AbortController()
  const timer = timeoutMs && setTimeout(() => timedOut.abort(), timeoutMs)
  try {
    const response = await fetch(request, { signal: AbortSignal.any([request.signal, timedOut.signal]) })
    clearTimeout(timer)
    // Reads a copy of a JSON response to its end, so that a truncated response counts as no response. The
    // caller reads the original.
    if (/^application\/json/.test(response.headers.get('content-type') ?? ''))
      await response.clone().arrayBuffer()
    return response
  } catch (cause) {
    if (request.signal.aborted) throw request.signal.reason
    return timedOut.signal.aborted
      ? createUnreachable(`The API did not respond within ${timeoutMs! / 1000} seconds.`, cause)
      : createUnreachable('The API could not be reached.', cause)
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Sends a request, and retries it after a temporary failure if a repeat is safe. Returns a success or a 304.
 * Throws LeadwireProblem for any other outcome.
 */
export const send = async (make: MakeRequest, options: SendOptions): Promise<Response> => {
  for (let attempt = 0; ; attempt++) {
    const request = make()
    const outcome = await tryOnce(request, options)
    const response = outcome instanceof LeadwireProblem ? undefined : outcome
    if (response?.ok || response?.status === 304) return response
    const mayHelp = !response || TEMPORARY.includes(response.status)
    const pauseMs = choosePauseMs(attempt, response)
    if (attempt >= options.retries || !isSafe(request) || !mayHelp || pauseMs > LONGEST_PAUSE_MS) {
      throw response ? await readProblem(response) : outcome
    }
    await response?.body?.cancel()
    await pause(pauseMs, request.signal)
  }
}
