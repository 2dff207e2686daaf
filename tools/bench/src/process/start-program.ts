import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export interface Program {
  pid: number
  /** The value that the program has passed to `reportReady`. */
  ready: unknown
  stop(): Promise<void>
}

/**
 * Starts a program of this package (`load/receiver`, for example) as a process, and waits until it is ready.
 */
export const startProgram = async (name: string, settings: object = {}): Promise<Program> => {
  const child = fork(join(__dirname, '..', `${name}.js`), [JSON.stringify(settings)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit')
  const ready = await Promise.race([
    once(child, 'message').then(([message]) => message),
    exited.then(([code, signal]) => Promise.reject(new Error(`${name} ended: ${signal ?? code}`))),
  ])
  return {
    pid: child.pid!,
    ready,
    stop: async () => {
      if (child.connected) child.disconnect()
      await exited
    },
  }
}
