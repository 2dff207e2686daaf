import type { Child } from '../process/child'
import { type Supervised, supervise } from '../process/supervise'
import type { Log } from './log'

export type Crew = {
  /** Starts a process and keeps it running. */
  add(name: string, start: () => Promise<Child>): Supervised
  /** Returns the pids of the processes by name. */
  pids(): Map<string, number>
  /** Stops the selected processes at the same time. Afterwards `add` throws. */
  stop(which: (name: string) => boolean): Promise<void>
  /** Kills all processes at once. */
  killAll(): void
}

/**
 * Creates an empty crew. `add` starts a process of the stack and keeps it running. `onChange` is called after
 * each start and restart.
 */
export function createCrew({ log, onChange }: { log: Log; onChange: () => void }): Crew {
  const members = new Map<string, Supervised>()
  const pids = new Map<string, number>()
  let closing = false

  const add = (name: string, start: () => Promise<Child>) => {
    // After a failed start, one part of the stack may still add processes while other parts are being
    // stopped.
    if (closing) throw new Error(`${name} is not started, because the stack is stopping`)
    const member = supervise({
      name,
      start,
      onUp: ({ pid }) => {
        if (pids.has(name)) log.say(`${name} was restarted (pid ${pid})`)
        pids.set(name, pid)
        onChange()
      },
      onDown: (why, pauseMs) =>
        log.say(`${name} ${why}; restarting it ${pauseMs ? `in ${pauseMs} ms` : 'now'}`),
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
