import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from './chance'
import { listChildren, signal } from './signal'
import type { Stack } from './start-stack'
import { waitUntilReady } from './wait-until-ready'

/** A disturbance of a process, or the loss of the machine of a process. Times are milliseconds since 1970. */
export interface Hazard {
  what: 'killed' | 'frozen' | 'killed and its store deleted' | 'lost'
  process: string
  from: number
  /** When everything was ready again. */
  until: number
}

interface Strike {
  name: string
  what: Hazard['what']
  frozenMs: number
}

/** Returns the process ids of all processes by name. */
const readTargets = async (stack: Stack): Promise<Map<string, number>> => {
  const { services, pids } = await stack.readDev()
  const all = [
    ...Object.entries(services).map(([name, { pid }]) => [name, pid] as const),
    ...Object.entries(pids),
  ]
  // Leaves out processes that are being restarted, whose id is 0.
  return new Map(all.filter(([, pid]) => pid > 0))
}

/** Returns the URLs of the health checks of all services. */
const listHealthUrls = async (stack: Stack): Promise<string[]> =>
  Object.values((await stack.readDev()).services).map(({ health }) => health)

const freeze = async (pid: number, ms: number): Promise<void> => {
  const frozen = [pid, ...(await listChildren(pid))]
  signal(frozen, 'SIGSTOP')
  try {
    await pause(ms)
  } finally {
    signal(frozen, 'SIGCONT')
  }
}

/** Kills nats-server and deletes its store. */
const killWithStore = async (stack: Stack, pid: number): Promise<void> => {
  // Freezes nats-server, deletes its store, and finally kills it. If nats-server were killed first, the
  // supervisor would restart it before the store is deleted.
  signal([pid], 'SIGSTOP')
  await rm(join(stack.data, 'nats', 'jetstream'), { recursive: true, force: true })
  signal([pid], 'SIGKILL')
}

/**
 * Disturbs one process, and waits until all services are ready again. Throws if they are not ready in time.
 */
const strike = async (stack: Stack, { name, what, frozenMs }: Strike): Promise<Hazard> => {
  const pid = (await readTargets(stack)).get(name)
  const from = Date.now()
  if (pid !== undefined) {
    if (what === 'frozen') await freeze(pid, frozenMs)
    else if (what === 'killed') signal([pid], 'SIGKILL')
    else await killWithStore(stack, pid)
  }
  await waitUntilReady(() => listHealthUrls(stack), `${name} was ${what}`)
  return { what, process: name, from, until: Date.now() }
}

/** A slow machine, on which few hazards fit into the time, gets at least this number of hazards. */
const LEAST_HAZARDS = 4

/**
 * Kills and freezes the processes of the stack in random order until the deadline, one or two at a time, and
 * at least LEAST_HAZARDS times. Deletes the store of nats-server once. Waits until everything is ready again.
 * Returns the hazards.
 */
export const runHazards = async (
  stack: Stack,
  { chance, deadline, say }: { chance: Chance; deadline: number; say: (line: string) => void },
): Promise<Hazard[]> => {
  const hazards: Hazard[] = []
  const startedAt = Date.now()
  const names = [...(await readTargets(stack)).keys()]
  const wipeAfter = startedAt + (deadline - startedAt) * chance.between(0.3, 0.7)
  let isWiped = false
  // Strikes each process once before it strikes any process again.
  let waiting: string[] = []
  const draw = (): Strike => {
    if (waiting.length === 0) waiting = [...names]
    const name = chance.pick(waiting)
    waiting = waiting.filter((other) => other !== name)
    const what: Hazard['what'] = chance.next() < 0.65 ? 'killed' : 'frozen'
    return { name, what, frozenMs: chance.between(1000, 6000) }
  }
  while (Date.now() < deadline || hazards.length < LEAST_HAZARDS) {
    await pause(chance.between(500, 3000))
    let strikes = chance.next() < 0.2 ? [draw(), draw()] : [draw()]
    if (!isWiped && Date.now() > wipeAfter) {
      isWiped = true
      strikes = [{ name: 'nats', what: 'killed and its store deleted', frozenMs: 0 }]
    }
    for (const { name, what } of strikes) say(`${name} is ${what}`)
    hazards.push(...(await Promise.all(strikes.map((each) => strike(stack, each)))))
  }
  return hazards
}
