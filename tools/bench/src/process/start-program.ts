import { fork } from 'node:child_process'
import { join } from 'node:path'

export type Program = {
  pid: number
  /** What it said when it was ready. */
  ready: unknown
  /** Has it do something. Rejects with what it threw there, and when it ends first. */
  call<Result>(method: string, argument?: unknown): Promise<Result>
  stop(): Promise<void>
}

type Message = { ready?: unknown; id?: number; result?: unknown; error?: string }
type Waiting = { resolve: (value: never) => void; reject: (error: Error) => void }

const STOP_MS = 5000

/**
 * Starts one of this package's own programs (`load/generator`, say) as a process of its own and waits until it is
 * ready.
 */
export async function startProgram(name: string, settings: object = {}): Promise<Program> {
  const child = fork(join(__dirname, '..', `${name}.js`), [JSON.stringify(settings)], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const waiting = new Map<number, Waiting>()
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  let calls = 0

  const isReady = new Promise<unknown>((resolve, reject) => {
    child.on('message', (message: Message) => {
      if ('ready' in message) return resolve(message.ready)
      const call = waiting.get(message.id!)
      waiting.delete(message.id!)
      if (message.error === undefined) call?.resolve(message.result as never)
      else call?.reject(new Error(`${name}: ${message.error}`))
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const error = new Error(`${name} ended (${signal ?? `exit code ${code}`})`)
      reject(error)
      for (const call of waiting.values()) call.reject(error)
    })
  })
  const ready = await isReady
  return {
    pid: child.pid!,
    ready,
    call: (method, argument) =>
      new Promise((resolve, reject) => {
        const id = calls++
        waiting.set(id, { resolve, reject })
        child.send({ id, method, argument }, (error) => error && reject(error))
      }),
    stop: async () => {
      if (child.connected) child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
      await exited
      clearTimeout(timer)
    },
  }
}
