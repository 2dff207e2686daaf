import { createServer, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, type Socket } from 'node:net'

/** How the proxy responds to a CONNECT: with a tunnel, with a status, or never. */
export type ConnectAnswer = 'tunnel' | 'hang' | number

export type ConnectProxy = {
  /** The proxy's URL, with the credentials if the proxy requires any. */
  url: string
  /** The target of each CONNECT (`host:port`), oldest first. */
  targets: string[]
  /** The open connections from clients. */
  open: Set<Socket>
  /** Sets the response to each further CONNECT with the right credentials. */
  answerWith(answer: ConnectAnswer | ((target: string) => ConnectAnswer)): void
  stop(): Promise<void>
}

/**
 * Starts a real HTTP proxy that only opens tunnels. With `tls`, clients connect to it over TLS, under the
 * name `localhost`.
 */
export async function startConnectProxy({
  credentials,
  tls,
}: {
  /** `user:password`, percent-encoded as in a URL. */
  credentials?: string
  tls?: { cert: string; key: string }
} = {}): Promise<ConnectProxy> {
  const targets: string[] = []
  const open = new Set<Socket>()
  let choose: (target: string) => ConnectAnswer = () => 'tunnel'
  const expected = credentials && `Basic ${Buffer.from(decodeURIComponent(credentials)).toString('base64')}`

  const refuse: RequestListener = (_request, response) => response.writeHead(405).end()
  const server = tls ? createTlsServer(tls, refuse) : createServer(refuse)
  server.on(tls ? 'secureConnection' : 'connection', (socket: Socket) => {
    open.add(socket.on('close', () => open.delete(socket)).on('error', () => socket.destroy()))
  })
  server.on('connect', ({ url: target = '', headers }, client: Socket) => {
    targets.push(target)
    const isKnown = headers['proxy-authorization'] === expected
    const answer = isKnown ? choose(target) : 407
    // Ends the connection when the client ends it, because Node's server would leave it half open.
    if (answer === 'hang') return void client.on('end', () => client.end()).resume()
    if (answer !== 'tunnel') return void client.end(`HTTP/1.1 ${answer} No\r\n\r\n`)
    const { hostname, port } = new URL(`http://${target}`)
    const upstream = connect(Number(port || 80), hostname.replace(/^\[|\]$/g, ''), () => {
      client.write('HTTP/1.1 200 Connection established\r\n\r\n')
      upstream.pipe(client).pipe(upstream)
    })
    upstream.on('error', () => client.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'))
    upstream.on('close', () => client.end())
    client.on('close', () => upstream.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const user = credentials ? `${credentials}@` : ''
  return {
    url: tls ? `https://${user}localhost:${port}` : `http://${user}127.0.0.1:${port}`,
    targets,
    open,
    answerWith: (answer) => {
      choose = typeof answer === 'function' ? answer : () => answer
    },
    stop: () => {
      for (const socket of open) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
