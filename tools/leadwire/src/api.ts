import { createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import type { Api } from './connection'

export type ApiRequest = Omit<RequestInit, 'headers'> & { headers?: Record<string, string>; duplex?: 'half' }

/**
 * Returns the reason why a fetch failed. The error's own message is only "fetch failed"; the reason is in the
 * innermost cause. If fetch tried several IP addresses, returns the reason of the first one.
 */
const findReason = (error: unknown): string => {
  if (error instanceof AggregateError) return findReason(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : findReason(error.cause)
}

/**
 * Returns a fetch whose errors contain the URL. Throws if a response has no request id, because it then does
 * not come from Leadwire.
 */
const createFetch =
  (url: string): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init).catch((cause: unknown) => {
      if (init?.signal?.aborted) throw cause
      throw new Error(`${url} could not be reached: ${findReason(cause)}`, { cause })
    })
    if (response.headers.has('x-request-id')) return response
    throw new Error(
      `${url} responded with ${response.status}, but is not Leadwire. Check the address and any proxy in front of it.`,
    )
  }

/**
 * Sends a request and leaves the response's body unread, for large files. Throws LeadwireProblem for an
 * error.
 */
export const callApi = async (
  { url, token }: Api,
  path: string,
  { headers, ...request }: ApiRequest = {},
): Promise<Response> => {
  const authorization = `Bearer ${token}`
  const response = await createFetch(url)(`${url}${path}`, {
    ...request,
    headers: { ...headers, authorization },
  })
  if (!response.ok)
    throw new LeadwireProblem(response.status, Object(await response.json().catch(() => null)))
  return response
}

export const connectApi = ({ url, token }: Api, timeoutMs = 10_000): Leadwire =>
  createLeadwire({ baseUrl: url, token, retries: 1, timeoutMs, fetch: createFetch(url) })
