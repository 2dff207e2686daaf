import { readFile } from 'node:fs/promises'

const ESTABLISHED = '01'

/**
 * How many TCP connections over IPv4 a server of this machine has, whose port is the address's (`host:port`). Zero where
 * the system has no /proc/net/tcp (proc(5)).
 */
export async function connectionsTo(address: string): Promise<number> {
  const port = Number(address.slice(address.lastIndexOf(':') + 1))
  const table = await readFile('/proc/net/tcp', 'utf8').catch(() => '')
  return table.split('\n').filter((line) => {
    const [, local, , state] = line.trim().split(/\s+/)
    return state === ESTABLISHED && Number.parseInt(local!.split(':')[1]!, 16) === port
  }).length
}
