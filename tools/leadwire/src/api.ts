import { serviceErrorOfProblem } from '@leadwire/service-kit'
import type { Api } from './connection'

export type ApiRequest = Omit<RequestInit, 'headers'> & { headers?: Record<string, string>; duplex?: 'half' }

/** Sends a request to the public API. Throws what it is refused with as the ServiceError it was. */
export const callApi = async (
  { url, token }: Api,
  path: string,
  { headers, ...request }: ApiRequest = {},
): Promise<Response> => {
  const authorization = `Bearer ${token}`
  const response = await fetch(`${url}${path}`, { ...request, headers: { ...headers, authorization } })
  if (!response.ok) throw serviceErrorOfProblem(await response.text())
  return response
}
