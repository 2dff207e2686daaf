import type { Stack } from '../stack/start-stack'
import { residentBytes } from './process-stat'
import { totalOf } from './statistics'

/** Resident memory (VmRSS) in MiB by service: what several of them share counts for each. */
export type Memory = Record<string, number>

export const readMemory = async ({ readDev }: Stack): Promise<Memory> => {
  const services = Object.entries((await readDev()).services)
  const sizes = await Promise.all(
    services.map(async ([name, { pid }]) => [name, (await residentBytes(pid)) / 2 ** 20] as const),
  )
  return Object.fromEntries(sizes)
}

/** Looks twice a second until it is stopped; keeps the look at which the services together had the most. */
export const watchMemory = (stack: Stack) => {
  let most: Memory = {}
  const look = async () => {
    const now = await readMemory(stack).catch(() => ({}))
    if (totalOf(now) > totalOf(most)) most = now
  }
  const timer = setInterval(look, 500)
  return { most: () => most, stop: () => clearInterval(timer) }
}
