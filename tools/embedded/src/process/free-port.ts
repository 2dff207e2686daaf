import { createSocket } from 'node:dgram'
import { createServer } from 'node:net'

// Stays below 32768, because Linux uses higher ports for outgoing connections. A server that restarts at such
// a port might find it taken by an outgoing connection, even by a client that has connected to itself. The
// fixed ports of well-known servers are mostly below 20000.
const FIRST = 20_000
const LAST = 32_000

/** Returns a free TCP port, and reserves it on this machine as long as this process runs. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if ((await reserve(port)) && !(await findPortProblem(port, host))) return port
  }
  throw new Error(`no free TCP port between ${FIRST} and ${LAST} on ${host}`)
}

/**
 * Reserves a TCP port by taking the UDP port of the same number. Until a server listens on the TCP port,
 * which may take seconds, other processes (a second stack, the specs of another clone) see that the port is
 * reserved.
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

/**
 * Returns the reason why no server can listen on a port (a code such as EADDRINUSE), or undefined if the port
 * is free.
 */
export function findPortProblem(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}
