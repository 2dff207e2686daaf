import { once } from 'node:events'
import { startChild } from './child'
import { eventually } from './eventually'
import { type Clock, supervise } from './supervise'
import { whenServing } from './when-serving'

const lives = () =>
  startChild({ name: 'stand-in', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] })
const fails = () =>
  startChild({
    name: 'stand-in',
    command: process.execPath,
    args: ['-e', 'console.log("bad setting"); process.exit(3)'],
  })

/** Creates a clock that moves only by `advance` and by waits. Records the waits and ends them at once. */
function fastClock() {
  const waits: number[] = []
  let now = 0
  const clock: Clock = {
    now: () => now,
    wait: async (ms) => {
      waits.push(ms)
      now += ms
    },
  }
  const advance = (ms: number) => {
    now += ms
  }
  return { clock, waits, advance }
}

describe('supervise', () => {
  test('restarts a killed process at once', async () => {
    const { clock, waits } = fastClock()
    const pids: number[] = []
    const member = supervise({ name: 'stand-in', start: lives, onUp: ({ pid }) => pids.push(pid), clock })
    try {
      await eventually(() => expect(pids).toHaveLength(1))
      process.kill(pids[0]!, 'SIGKILL')
      await eventually(() => expect(pids).toHaveLength(2))
      expect(pids[1]).not.toBe(pids[0])
      expect(waits).toEqual([0])
      expect(member.failuresInARow()).toBe(0)
    } finally {
      await member.stop()
    }
    expect(() => process.kill(pids[1]!, 0)).toThrow('ESRCH')
  })

  test('restarts at once on request, also during a pause, and resets the failures', async () => {
    const { clock, waits } = fastClock()
    let starts = 0
    const member = supervise({
      name: 'stand-in',
      start: () => {
        starts += 1
        return starts === 2 || starts === 3 ? fails() : lives()
      },
      // Makes a pause last until the restart ends it.
      clock: {
        ...clock,
        wait: async (ms, signal) => {
          waits.push(ms)
          if (ms > 0) await once(signal, 'abort')
        },
      },
    })
    try {
      await eventually(() => expect(member.child()).toBeDefined())
      await member.restart()
      await eventually(() => expect(waits).toEqual([0, 100]))
      expect(member.failuresInARow()).toBe(1)
      await member.restart()
      expect(member.failuresInARow()).toBe(0)
      await eventually(() => expect(waits).toEqual([0, 100, 0]))
      await eventually(() => expect(member.child()).toBeDefined())
      expect(starts).toBe(4)
    } finally {
      await member.stop()
    }
  })

  test('pauses grow while a process keeps ending, and reset after it has run for a while', async () => {
    const { clock, waits, advance } = fastClock()
    let starts = 0
    const start = () => {
      starts += 1
      return starts <= 9 ? fails() : lives()
    }
    const member = supervise({ name: 'stand-in', start, healthyAfterMs: 10_000, clock })
    try {
      await eventually(() => expect(starts).toBe(10))
      expect(waits).toEqual([0, 100, 200, 500, 1000, 2000, 5000, 5000, 5000])
      expect(member.failuresInARow()).toBe(9)

      await eventually(() => expect(member.child()).toBeDefined())
      advance(10_000)
      member.child()!.kill('SIGKILL')
      await eventually(() => expect(starts).toBe(11))
      expect(waits.at(-1)).toBe(0)
    } finally {
      await member.stop()
    }
  })

  test('a start that throws counts as a failure', async () => {
    const { clock, waits } = fastClock()
    let starts = 0
    const start = async () => {
      starts += 1
      if (starts < 3) throw new Error('no such file')
      return lives()
    }
    const member = supervise({ name: 'stand-in', start, clock })
    await eventually(() => expect(member.child()).toBeDefined())
    await member.stop()
    expect(waits).toEqual([0, 100])
  })

  test('stopping ends a pause', async () => {
    const member = supervise({ name: 'stand-in', start: fails })
    await eventually(() => expect(member.failuresInARow()).toBeGreaterThan(3))
    await member.stop()
    expect(member.child()).toBeUndefined()
  })
})

test('waiting for a process that keeps ending fails with its last lines', async () => {
  const member = supervise({ name: 'stand-in', start: fails })
  const waiting = whenServing(member, async () => false, { timeoutMs: 60_000 })
  await expect(waiting).rejects.toThrow('stand-in does not start:\n  bad setting')
  await member.stop()
})
