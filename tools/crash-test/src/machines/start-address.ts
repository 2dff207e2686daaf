import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

interface Connection {
  client: Socket
  server: Socket
}

const connectTo = (port: number): Promise<Socket | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(socket))
    socket.once('error', () => resolve(undefined))
  })

const pipeBothWays = ({ client, server }: Connection): void => {
  for (const [from, to] of [
    [client, server],
    [server, client],
  ] as const) {
    from.on('error', () => undefined)
    from.pipe(to)
    from.on('close', () => to.destroy())
  }
}

/**
 * Starts a TCP proxy, which stands in for a load balancer or for an address that moves from machine to
 * machine. The proxy connects to the servers in turn, and skips servers that refuse the connection. After
 * `vanish` the proxy continues to accept connections, but sends no data.
 */
export const startAddress = async (ports: number[]) => {
  let servers = ports
  let turn = 0
  const open = new Set<Connection>()
  const silent = new Set<Socket>()

  const connectToNext = async (): Promise<Socket | undefined> => {
    const first = turn
    turn += 1
    for (let index = 0; index < servers.length; index++) {
      const socket = await connectTo(servers[(first + index) % servers.length]!)
      if (socket) return socket
    }
    return undefined
  }
  const keepSilent = (client: Socket) => {
    silent.add(client.pause())
    client.on('error', () => undefined)
    client.once('close', () => silent.delete(client))
  }
  const listener = createServer({ pauseOnConnect: true }, async (client) => {
    if (servers.length === 0) return keepSilent(client)
    client.on('error', () => undefined)
    const server = await connectToNext()
    if (!server) return client.destroy()
    const connection = { client, server }
    open.add(connection)
    server.once('close', () => open.delete(connection))
    pipeBothWays(connection)
    client.resume()
  })
  await new Promise<void>((listening) => listener.listen(0, '127.0.0.1', listening))
  return {
    port: (listener.address() as AddressInfo).port,
    /** Connects new clients to these servers. */
    moveTo: (ports: number[]): void => {
      servers = ports
    },
    /** Simulates the loss of the servers: old and new connections stay open, but get no more data. */
    vanish: (): void => {
      servers = []
      for (const { client, server } of open) {
        client.unpipe()
        server.unpipe().removeAllListeners('close').destroy()
        keepSilent(client)
      }
      open.clear()
    },
    stop: (): Promise<void> =>
      new Promise((closed) => {
        listener.close(() => closed())
        for (const { client, server } of open) for (const end of [client, server]) end.destroy()
        for (const client of silent) client.destroy()
      }),
  }
}
