import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { startChild, whenReady } from './child'
import { withDeathSignal } from './death-signal'
import { eventually } from './eventually'
import { readCommandLine } from './identity'

const node = (name: string, script: string, options = {}) =>
  startChild({ name, command: process.execPath, args: ['-e', script], ...options })

describe('startChild', () => {
  test('reports each line of stdout and stderr, and the exit code', async () => {
    const lines: string[] = []
    const child = await node('talker', 'console.log("one"); console.error("two"); process.exitCode = 7', {
      onLine: (line: string) => lines.push(line),
    })
    expect(await child.exited).toEqual({ code: 7, signal: null })
    await eventually(() => expect([...lines].sort()).toEqual(['one', 'two']))
  })

  test('stop sends a signal first, and kills a process that ignores it', async () => {
    const polite = await node(
      'polite',
      'process.on("SIGTERM", () => process.exit(0)); setInterval(() => {}, 1e6); console.log("up")',
    )
    await whenReady(polite, async () => polite.lastLines().includes('up'), { timeoutMs: 60_000 })
    expect(await polite.stop()).toEqual({ code: 0, signal: null })

    const deaf = await node(
      'deaf',
      'process.on("SIGTERM", () => {}); setInterval(() => {}, 1e6); console.log("up")',
      {
        stopTimeoutMs: 50,
      },
    )
    await whenReady(deaf, async () => deaf.lastLines().includes('up'), { timeoutMs: 60_000 })
    expect(await deaf.stop()).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('waiting fails at once when the child ends, with its last lines', async () => {
    const child = await node('invalid', 'console.error("PORT: is missing"); process.exit(1)')
    const waiting = whenReady(child, async () => false, { timeoutMs: 60_000 })
    await expect(waiting).rejects.toThrow(
      /invalid ended before it was ready \(exit code 1\)\n {2}PORT: is missing/,
    )
  })

  test('a program that does not exist is an error', async () => {
    const missing = startChild({ name: 'missing', command: '/no/such/program', args: [] }).then(
      (child) => child.exited,
    )
    await expect(missing.then(({ code }) => code === 0)).resolves.toBe(false)
  })

  // Skips other systems: the kernel ends the child only on Linux, and only with util-linux's setpriv.
  const linux = process.platform === 'linux' ? test : test.skip
  linux('a child ends with its parent, even if the parent is killed', async () => {
    const command = withDeathSignal(process.execPath, ['-e', 'setInterval(() => {}, 1e6)'], 'SIGTERM')
    const script = `
      const [command, args] = ${JSON.stringify(command)}
      const child = require('node:child_process').spawn(command, args, { detached: true })
      console.log(child.pid)`
    const parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] })
    const [pid] = (await once(parent.stdout, 'data')).map(Number)
    await eventually(async () => expect(await readCommandLine(pid!)).toMatch(/^\S*node -e setInterval/))
    parent.kill('SIGKILL')
    await eventually(async () => expect(await readCommandLine(pid!)).toBeUndefined())
  })
})
