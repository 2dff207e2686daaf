import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

// Below 32768, where Linux starts handing out ports to outgoing connections: a server that dies and comes back at the
// same port would else find it taken by a stranger's connection, or by a client that connected to itself while it was
// away. Fixed ports of well-known servers lie mostly under 20000.
const FIRST = 20_000
const LAST = 32_000

/** A TCP port nobody listens on now, never given to anybody else on this machine while this process lives. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if ((await reserve(port)) && !(await whyNotFree(port, host))) return port
  }
  throw new Error(`no free TCP port found between ${FIRST} and ${LAST} on ${host}`)
}

/**
 * Takes the UDP port of the same number and keeps it: until a server listens on the TCP port, which may take seconds,
 * other processes that look for one (a second stack, the specs of another clone) see that it is spoken for.
 */
function reserve(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4')
    socket.once('error', () => {
      socket.close()
      resolve(false)
    })
    socket.bind({ port, address: '127.0.0.1', exclusive: true }, () => {
      socket.unref()
      resolve(true)
    })
  })
}

/** Why no server could listen there now (a system code such as EADDRINUSE); undefined when one could. */
export function whyNotFree(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}
