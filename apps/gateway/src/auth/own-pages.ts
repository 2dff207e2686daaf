/*
 * Browsers send cookies with requests from any page. A session must work only for requests from the pages of
 * this API (the console and the documentation), so that another site cannot act in the name of a person who
 * has signed in. Browsers say where a request comes from in Sec-Fetch-Site. Over plain http, they send this
 * header only to loopback addresses, but they send Origin with every changing request.
 */
import type { FastifyRequest } from 'fastify'

const SAFE_METHODS = ['GET', 'HEAD']

/**
 * Returns where a request comes from. `own`: from a page of this API. `other`: from a page of another site.
 * `unknown`: the request does not say. The request then comes from a program, or is a GET from any page.
 */
export type FindSender = (request: FastifyRequest) => 'own' | 'other' | 'unknown'

/**
 * Makes the function that finds the sender of a request. A page of this API has the origin of the configured
 * address, or of the address to which the request was sent.
 */
export const createFindSender = (
  configuredAddress: string,
  findAddress: (request: FastifyRequest) => string,
): FindSender => {
  const configuredOrigin = new URL(configuredAddress).origin
  return (request) => {
    const { 'sec-fetch-site': site, origin } = request.headers
    if (site === 'same-origin') return 'own'
    // `none`: the person has entered the address. Only then may a GET have no page.
    if (site === 'none') return SAFE_METHODS.includes(request.method) ? 'own' : 'other'
    if (site !== undefined) return 'other'
    if (origin === undefined) return 'unknown'
    const isOwn = origin === configuredOrigin || origin === new URL(findAddress(request)).origin
    return isOwn ? 'own' : 'other'
  }
}

/**
 * Returns whether a request may use a session. A request with an unknown sender may only read. A foreign page
 * can cause such a request, but cannot read the response.
 */
export const mayUseSession = (request: FastifyRequest, sender: ReturnType<FindSender>): boolean =>
  sender === 'own' || (sender === 'unknown' && SAFE_METHODS.includes(request.method))
