import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, type Socket } from 'node:net'
import type { Dial } from './connect'

/** An error of the proxy, or of the connection to it. */
export interface ProxyError extends NodeJS.ErrnoException {
  /** What is wrong, in a sentence without the proxy's address. */
  proxyReason?: string
}

const authorizationOf = ({ username, password }: URL) => {
  const credentials = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return credentials.length > 1 && { 'proxy-authorization': `Basic ${credentials.toString('base64')}` }
}

/**
 * Connects through an HTTP proxy, by CONNECT to the address that the guard has allowed: the proxy resolves no name. `proxyOf` is asked for
 * each connection: the setting in a file changes.
 */
export const dialThroughProxy =
  (proxyOf: () => URL): Dial =>
  async ({ host, port }, signal) => {
    const proxy = proxyOf()
    const { request } = proxy.protocol === 'https:' ? https : http
    const hostname = proxy.hostname.replace(/^\[|\]$/g, '')
    // By default the server name would be that of the Host header.
    const server = { hostname, port: proxy.port, servername: isIP(hostname) ? '' : hostname }
    const path = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
    const headers = { host: path, ...authorizationOf(proxy) }
    const tunnel = request({ ...server, agent: false, method: 'CONNECT', path, headers }).end()
    // The error of its destruction.
    tunnel.on('error', () => undefined)
    let answer: [IncomingMessage, Socket, Buffer]
    try {
      answer = (await once(tunnel, 'connect', { signal })) as typeof answer
    } catch (error) {
      tunnel.destroy()
      if (signal.aborted) throw error
      const { code } = error as NodeJS.ErrnoException
      throw Object.assign(error as Error, { proxyReason: `The connection to the proxy failed: ${code}.` })
    }
    const [{ statusCode }, socket, head] = answer
    if (statusCode! < 300) {
      if (head.length > 0) socket.unshift(head)
      return socket
    }
    socket.destroy()
    const proxyReason = `The proxy answered ${statusCode} to CONNECT.`
    throw Object.assign(new Error(proxyReason), { proxyReason })
  }
