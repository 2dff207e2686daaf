import { startProgram } from '../process/start-program'

/** `keys`: path and lead reference (or due time) of each; `at`: when its head arrived, milliseconds since 1970. */
export type Arrivals = { keys: string[]; at: number[] }

export type Receiver = {
  pid: number
  port: number
  /** A second listener, which can refuse connections. */
  secondPort: number
  count(): Promise<number>
  /** Everything that arrived since the last time. */
  take(): Promise<Arrivals>
  keepKeys(keep: boolean): Promise<void>
  /** Whether paths under /hang are never answered. */
  hang(on: boolean): Promise<void>
  refuse(on: boolean): Promise<void>
  stop(): Promise<void>
}

/** A webhook receiver in a process of its own; answers 200 unless told otherwise. */
export async function startReceiver(): Promise<Receiver> {
  const { pid, ready, call, stop } = await startProgram('load/receiver')
  const ports = ready as { port: number; secondPort: number }
  return {
    pid,
    ...ports,
    count: () => call('count'),
    take: () => call('take'),
    keepKeys: (keep) => call('keepKeys', keep),
    hang: (on) => call('hang', on),
    refuse: (on) => call('refuse', on),
    stop,
  }
}
