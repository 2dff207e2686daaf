import type { Child } from '../process/child'
import { type Supervised, supervise } from '../process/supervise'
import type { Log } from './log'

export type Crew = {
  /** Starts something and keeps it running. */
  add(name: string, start: () => Promise<Child>): Supervised
  /** The pid of each process that runs, by name. */
  pids(): Map<string, number>
  /** Stops these side by side; nothing can be added any more. */
  stop(which: (name: string) => boolean): Promise<void>
  /** Kills all of them, without asking. */
  killAll(): void
}

/** Everything one stack runs. `onChange` hears of each process that is replaced. */
export function createCrew({ log, onChange }: { log: Log; onChange: () => void }): Crew {
  const members = new Map<string, Supervised>()
  const pids = new Map<string, number>()
  let closing = false

  const add = (name: string, start: () => Promise<Child>) => {
    // A start that failed is being undone while its other half is still on the way here.
    if (closing) throw new Error(`${name} is not started: everything is being stopped`)
    const member = supervise({
      name,
      start,
      onUp: ({ pid }) => {
        if (pids.has(name)) log.say(`${name} runs again (pid ${pid})`)
        pids.set(name, pid)
        onChange()
      },
      onDown: (why, pauseMs) =>
        log.say(`${name} ${why}; starting it again ${pauseMs ? `in ${pauseMs} ms` : 'at once'}`),
    })
    members.set(name, member)
    return member
  }
  const stop = async (which: (name: string) => boolean) => {
    closing = true
    const chosen = [...members.values()].filter(({ name }) => which(name))
    await Promise.all(chosen.map((member) => member.stop()))
  }
  const killAll = () => {
    for (const member of members.values()) member.child()?.killGroup()
  }
  return { add, pids: () => pids, stop, killAll }
}
