import { isIP } from 'node:net'
import type { FastifyInstance } from 'fastify'
import ipaddr from 'ipaddr.js'

/**
 * Returns the IP address in an element of X-Forwarded-For. The element may have quotes, brackets, a port and
 * a zone. Returns undefined for anything else, such as `unknown`.
 */
const readAddress = (element: string): string | undefined => {
  const text = element.replaceAll('"', '').trim()
  const host = isIP(text) ? text : text.replace(/:\d*$/, '')
  const address = host.replace(/^\[(.*)\]$/, '$1').replace(/%.*$/, '')
  return isIP(address) ? ipaddr.process(address).toString() : undefined
}

/**
 * Returns the IP addresses in X-Forwarded-For after the last element that is not an IP address. A visitor may
 * have written this element and all elements before it, so these elements must not count. A comma between
 * quotation marks also separates elements, because a visitor may have written the quotation marks.
 */
const readAddresses = (list: string): string[] => {
  const addresses: string[] = []
  for (const element of list.split(',').reverse()) {
    if (element.trim() === '') continue
    const address = readAddress(element)
    if (address === undefined) break
    addresses.push(address)
  }
  return addresses.reverse()
}

/**
 * Returns the first element of a list. The proxy next to the client has written this element. If a client
 * forges the element, only the URLs in its own response change.
 */
const readFirst = (list: string): string =>
  list
    .replaceAll('"', '')
    .split(',')
    .map((element) => element.trim())
    .find((element) => element !== '') ?? ''

/**
 * Normalises the X-Forwarded headers of each request. Fastify does not remove a port from an IP address, so
 * without this function each connection would count as a different visitor. Call this function before other
 * hooks are added. Fastify decides whether the headers are trusted (`trustProxy`).
 */
export const readForwardedHeaders = (app: FastifyInstance): void => {
  app.addHook('onRequest', ({ raw: { headers } }, _reply, done) => {
    const { 'x-forwarded-for': addresses, 'x-forwarded-proto': protocol, 'x-forwarded-host': host } = headers
    if (addresses !== undefined)
      headers['x-forwarded-for'] = readAddresses(String(addresses)).join(', ') || undefined
    if (protocol !== undefined) headers['x-forwarded-proto'] = readFirst(String(protocol)).toLowerCase()
    if (host !== undefined) headers['x-forwarded-host'] = readFirst(String(host))
    done()
  })
}
