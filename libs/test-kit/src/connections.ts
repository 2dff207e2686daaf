import { readFile } from 'node:fs/promises'
import { eventually } from '@leadwire/embedded'

const ESTABLISHED = '01'

/**
 * Counts the callers that are connected to a copy. Call this function before the copy stops. Resolves with a
 * function to call after the copy has started again. That function waits until the copy has enough callers:
 * as many as before, or as many as its peer with the fewest callers, whichever is lower. The number from
 * before may be too high, because a caller that has just replaced a connection counts twice for a while.
 *
 * Only a connected copy can take over the work of another copy. For this reason, a rollout also waits between
 * two copies (minReadySeconds).
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
 * Counts the established TCP connections over IPv4 on the port in `address` (`host:port`) of this machine.
 * Returns 0 if the system has no /proc/net/tcp (proc(5)).
 */
async function connectionsTo(address: string): Promise<number> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '')
  return table.split('\n').filter((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === ESTABLISHED && Number.parseInt(local!.split(':')[1]!, 16) === port
  }).length
}
