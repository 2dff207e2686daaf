import type { Stack } from '../stack/start-stack'
import { readResidentBytes } from './process-stat'
import { sumValues } from './statistics'

/** Resident memory (VmRSS) by service, in MiB. Memory that services share counts for each of them. */
export type Memory = Record<string, number>

export const readMemory = async ({ readDev }: Stack): Promise<Memory> => {
  const memory: Memory = {}
  for (const [name, { pid }] of Object.entries((await readDev()).services))
    memory[name] = (await readResidentBytes(pid)) / 2 ** 20
  return memory
}

/**
 * Reads the memory twice a second until `stop` is called. `readPeak` returns the reading with the largest sum
 * over all services.
 */
export const watchMemory = (stack: Stack) => {
  let peak: Memory = {}
  const poll = async () => {
    const now = await readMemory(stack).catch(() => ({}))
    if (sumValues(now) > sumValues(peak)) peak = now
  }
  const timer = setInterval(poll, 500)
  return { readPeak: () => peak, stop: () => clearInterval(timer) }
}
