import { createServer } from 'node:net'

// Below 32768, where Linux starts handing out ports to outgoing connections: a server that dies and comes back at the
// same port would else find it taken by a stranger's connection, or by a client that connected to itself while it was
// away. Fixed ports of well-known servers lie mostly under 20000.
const FIRST = 20_000
const LAST = 32_000

const handedOut = new Set<number>()

/** A TCP port nobody listens on now, never given twice by this process. */
export async function freePort(host = '127.0.0.1'): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (handedOut.has(port) || (await whyNotFree(port, host))) continue
    handedOut.add(port)
    return port
  }
  throw new Error(`no free TCP port found between ${FIRST} and ${LAST} on ${host}`)
}

/** Why no server could listen there now (a system code such as EADDRINUSE); undefined when one could. */
export function whyNotFree(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(undefined)))
  })
}
