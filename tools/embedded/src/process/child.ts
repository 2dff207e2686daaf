import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { withDeathSignal } from './death-signal'
import { onEachLine } from './on-each-line'
import { poll } from './poll'

export type Exit = { code: number | null; signal: NodeJS.Signals | null }

export type ChildOptions = {
  name: string
  command: string
  args: string[]
  env?: NodeJS.ProcessEnv
  cwd?: string
  /** Another user to run the process as. Only root may set this. */
  user?: { uid: number; gid: number } | undefined
  /**
   * A lock that the process inherits. The lock then lasts until the process ends, even if the process that
   * took the lock ends first.
   */
  lock?: { fd: number } | undefined
  /** Called with each line of the process's stdout and stderr. */
  onLine?: ((line: string) => void) | undefined
  stopSignal?: NodeJS.Signals
  /** How long the process may take to stop before it is killed. */
  stopTimeoutMs?: number
}

export type Child = {
  name: string
  pid: number
  exited: Promise<Exit>
  hasExited(): boolean
  /** Returns the last lines of the process's output, for an error message. */
  lastLines(): string[]
  kill(signal: NodeJS.Signals): void
  /** Kills the process and everything that it started (kill -9). */
  killGroup(): void
  /** Sends the stop signal, and kills the process group after a time. Resolves when the process has ended. */
  stop(): Promise<Exit>
}

/**
 * Starts a process in a new session, so that Ctrl-C in a terminal does not reach it. The calling process gets
 * the signal, and stops its children in order. Resolves when the process has a pid.
 * @throws if the process can't be started (no such file, no permission)
 */
export async function startChild(options: ChildOptions): Promise<Child> {
  const { name, stopSignal = 'SIGTERM', stopTimeoutMs = 12_000 } = options
  const [command, args] = withDeathSignal(options.command, options.args, stopSignal)
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', ...(options.lock ? [options.lock.fd] : [])],
    ...(options.env && { env: options.env }),
    ...(options.cwd !== undefined && { cwd: options.cwd }),
    ...options.user,
  })
  const exited = new Promise<Exit>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  )
  const lastLines = readLines(child, options.onLine)
  await once(child, 'spawn')
  const pid = child.pid!
  const hasExited = () => child.exitCode !== null || child.signalCode !== null

  const stop = async () => {
    if (!hasExited()) {
      child.kill(stopSignal)
      const timer = setTimeout(() => killGroup(pid), stopTimeoutMs)
      await exited
      clearTimeout(timer)
    }
    return exited
  }
  return {
    name,
    pid,
    exited,
    hasExited,
    lastLines: () => lastLines,
    kill: (signal) => child.kill(signal),
    killGroup: () => killGroup(pid),
    stop,
  }
}

/**
 * Waits until `probe` returns true.
 * @throws an error with the child's last lines as soon as the child exits, or after `timeoutMs`
 */
export async function whenReady(
  child: Child,
  probe: () => Promise<boolean>,
  { timeoutMs }: { timeoutMs: number },
): Promise<void> {
  const tail = () =>
    child
      .lastLines()
      .map((line) => `\n  ${line}`)
      .join('')
  let gone = false
  try {
    await poll(
      async () => {
        gone = child.hasExited()
        return gone || (await probe())
      },
      { what: `${child.name} to be ready`, timeoutMs },
    )
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}${tail()}`)
  }
  if (!gone) return
  const { code, signal } = await child.exited
  throw new Error(`${child.name} ended before it was ready (${signal ?? `exit code ${code}`})${tail()}`)
}

function readLines(child: ChildProcess, onLine: ChildOptions['onLine']): string[] {
  const last: string[] = []
  for (const stream of [child.stdout!, child.stderr!]) {
    onEachLine(stream, (line) => {
      last.push(line)
      if (last.length > 20) last.shift()
      onLine?.(line)
    })
  }
  return last
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Ignores a process that has just ended.
  }
}
