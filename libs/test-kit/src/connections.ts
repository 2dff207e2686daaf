import { readFile } from 'node:fs/promises'
import { eventually } from '@leadwire/embedded'

const ESTABLISHED = '01'

/**
 * To be called before a copy is stopped; what it resolves to waits, once the copy is back, until as many callers are connected to it as
 * before, or to each of its peers: a caller that has just replaced a connection has two for a while. An orchestrator waits like this between two copies (minReadySeconds): only a copy that is connected can take the other's
 * work.
 */
export async function watchCallers(
  { grpc }: { grpc: string | null },
  peers: { grpc: string | null }[] = [],
): Promise<() => Promise<void>> {
  if (!grpc) return async () => undefined
  const before = await connectionsTo(grpc)
  return () =>
    eventually(async () => {
      const [now, ...others] = await Promise.all([{ grpc }, ...peers].map((one) => connectionsTo(one.grpc!)))
      const wanted = Math.min(before, ...others)
      if (now! < wanted) throw new Error(`${now} of ${wanted} callers are connected to ${grpc}`)
    })
}

/**
 * How many TCP connections over IPv4 a server of this machine has, whose port is the address's (`host:port`). Zero where
 * the system has no /proc/net/tcp (proc(5)).
 */
async function connectionsTo(address: string): Promise<number> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '')
  return table.split('\n').filter((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === ESTABLISHED && Number.parseInt(local!.split(':')[1]!, 16) === port
  }).length
}
