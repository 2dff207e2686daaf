import { createLeadwire, type Leadwire, LeadwireProblem } from '@leadwire/client'
import type { Api } from './connection'

export type ApiRequest = Omit<RequestInit, 'headers'> & { headers?: Record<string, string>; duplex?: 'half' }

/** What fetch says itself is "fetch failed"; the reason is in its cause, of several addresses in the first error. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError) return reasonOf(error.errors[0])
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : reasonOf(error.cause)
}

/** A fetch whose errors name the address. A response without an id is not one of Leadwire's. */
const fetchFrom =
  (url: string): typeof fetch =>
  async (input, init) => {
    const response = await fetch(input, init).catch((cause: unknown) => {
      if (init?.signal?.aborted) throw cause
      throw new Error(`${url} could not be reached: ${reasonOf(cause)}`, { cause })
    })
    if (response.headers.has('x-request-id')) return response
    throw new Error(
      `${url} answered ${response.status}, but not as Leadwire does. Check the address, and any proxy before it.`,
    )
  }

/** Sends a request whose body or answer may be too large to hold. Throws LeadwireProblem for an error response. */
export const callApi = async (
  { url, token }: Api,
  path: string,
  { headers, ...request }: ApiRequest = {},
): Promise<Response> => {
  const authorization = `Bearer ${token}`
  const response = await fetchFrom(url)(`${url}${path}`, {
    ...request,
    headers: { ...headers, authorization },
  })
  if (!response.ok)
    throw new LeadwireProblem(response.status, Object(await response.json().catch(() => null)))
  return response
}

export const connectApi = ({ url, token }: Api, timeoutMs = 10_000): Leadwire =>
  createLeadwire({ baseUrl: url, token, retries: 1, timeoutMs, fetch: fetchFrom(url) })
