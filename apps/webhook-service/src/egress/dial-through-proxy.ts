import { once } from 'node:events'
import http, { type ClientRequest, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Dial } from './connect'

/** An error of the proxy, or of the connection to it. */
export interface ProxyError extends NodeJS.ErrnoException {
  /** Explains the error in a sentence that does not contain the proxy's address. */
  proxyReason?: string
}

/** Renders the header with the credentials of the proxy's URL. Returns undefined if the URL has none. */
const renderAuthorization = ({ username, password }: URL) => {
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  const hasCredentials = credentials.length > 1
  return hasCredentials ? { 'proxy-authorization': `Basic ${credentials.toString('base64')}` } : undefined
}

/** Waits for the response to CONNECT. Destroys the request if no response arrives. */
const waitForResponse = async (tunnel: ClientRequest, signal: AbortSignal) => {
  try {
    return (await once(tunnel, 'connect', { signal })) as [IncomingMessage, Socket, Buffer]
  } catch (error) {
    tunnel.destroy()
    if (signal.aborted) throw error
    const { code } = error as NodeJS.ErrnoException
    throw Object.assign(error as Error, { proxyReason: `The connection to the proxy failed: ${code}.` })
  }
}

/**
 * Connects through an HTTP proxy with CONNECT. The proxy gets the IP address that the guard has allowed, so
 * the proxy does not resolve the host name. `getProxy` is called for each connection, because the setting may
 * be in a file that changes.
 */
export const dialThroughProxy =
  (getProxy: () => URL): Dial =>
  async ({ host, port }, signal) => {
    const proxy = getProxy()
    const { request } = proxy.protocol === 'https:' ? https : http
    const hostname = proxy.hostname.replace(/^\[|\]$/g, '')
    // Without `servername`, Node.js would use the Host header as the server name for TLS. The Host header
    // names the receiver and not the proxy.
    const server = { hostname, port: proxy.port, servername: isIP(hostname) ? '' : hostname }
    const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    const headers = { host: path, ...renderAuthorization(proxy) }
    const tunnel = request({ ...server, agent: false, method: 'CONNECT', path, headers }).end()
    // `destroy` emits an error, which would otherwise be unhandled.
    tunnel.on('error', () => undefined)
    const [{ statusCode }, socket, head] = await waitForResponse(tunnel, signal)
    if (statusCode! < 300) {
      if (head.length > 0) socket.unshift(head)
      return socket
    }
    socket.destroy()
    const proxyReason = `The proxy responded to CONNECT with ${statusCode}.`
    throw Object.assign(new Error(proxyReason), { proxyReason })
  }
