import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Chance } from './chance'
import { childrenOf, signal } from './signal'
import type { Stack } from './start-stack'
import { untilReady } from './until-ready'

/** What was done to a process, or to the machine that it ran on. Times are milliseconds since 1970. */
export interface Hazard {
  what: 'killed' | 'frozen' | 'killed and its store deleted' | 'lost'
  process: string
  from: number
  /** When everything was ready again. */
  until: number
}

const targets = async (stack: Stack): Promise<Map<string, number>> => {
  const { services, pids } = await stack.dev()
  const all = [
    ...Object.entries(services).map(([name, { pid }]) => [name, pid] as const),
    ...Object.entries(pids),
  ]
  // 0 stands for one that is just being replaced.
  return new Map(all.filter(([, pid]) => pid > 0))
}

/** The addresses of the health checks of all services. */
const healthOf = async (stack: Stack): Promise<string[]> =>
  Object.values((await stack.dev()).services).map(({ health }) => health)

const freeze = async (pid: number, ms: number): Promise<void> => {
  const frozen = [pid, ...(await childrenOf(pid))]
  signal(frozen, 'SIGSTOP')
  try {
    await pause(ms)
  } finally {
    signal(frozen, 'SIGCONT')
  }
}

/** Stopped first: the one that replaces it must find nothing. */
const killWithoutStore = async (stack: Stack, pid: number): Promise<void> => {
  signal([pid], 'SIGSTOP')
  await rm(join(stack.data, 'nats', 'jetstream'), { recursive: true, force: true })
  signal([pid], 'SIGKILL')
}

/** Does one thing to one process, and waits until all is ready again. Throws when it does not come back. */
const strike = async (
  stack: Stack,
  { name, what, frozenMs }: { name: string; what: Hazard['what']; frozenMs: number },
): Promise<Hazard> => {
  const pid = (await targets(stack)).get(name)
  const from = Date.now()
  if (pid !== undefined) {
    if (what === 'frozen') await freeze(pid, frozenMs)
    else if (what === 'killed') signal([pid], 'SIGKILL')
    else await killWithoutStore(stack, pid)
  }
  await untilReady(() => healthOf(stack), `${name} was ${what}`)
  return { what, process: name, from, until: Date.now() }
}

/**
 * Kills and freezes every process of the stack, one after the other or two at once, in an order drawn by chance, and deletes the store
 * of NATS once. Resolves with what was done when `deadline` has passed, and everything is ready.
 */
export const runHazards = async (
  stack: Stack,
  { chance, deadline, say }: { chance: Chance; deadline: number; say: (line: string) => void },
): Promise<Hazard[]> => {
  const hazards: Hazard[] = []
  const begun = Date.now()
  const names = [...(await targets(stack)).keys()]
  const wipeAfter = begun + (deadline - begun) * chance.between(0.3, 0.7)
  let wiped = false
  // Each process has its turn before one has it again.
  let waiting: string[] = []
  const draw = () => {
    if (waiting.length === 0) waiting = [...names]
    const name = chance.pick(waiting)
    waiting = waiting.filter((other) => other !== name)
    const what: Hazard['what'] = chance.next() < 0.65 ? 'killed' : 'frozen'
    return { name, what, frozenMs: chance.between(1000, 6000) }
  }
  while (Date.now() < deadline) {
    await pause(chance.between(500, 3000))
    const drawn = chance.next() < 0.2 ? [draw(), draw()] : [draw()]
    const isTime: boolean = !wiped && Date.now() > wipeAfter
    wiped ||= isTime
    const done = isTime
      ? [{ name: 'nats', what: 'killed and its store deleted' as const, frozenMs: 0 }]
      : drawn
    for (const { name, what } of done) say(`${name} is ${what}`)
    hazards.push(...(await Promise.all(done.map((each) => strike(stack, each)))))
  }
  return hazards
}
