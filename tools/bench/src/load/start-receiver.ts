import { poll } from '@leadwire/embedded'
import { startProgram } from '../process/start-program'
import type { Created } from './open-loop'

/** The lead of each webhook, and when its head arrived, in milliseconds since 1970. */
export type Arrivals = [reference: string, at: number][]

export interface Receiver {
  port: number
  /** An address that answers 200, whatever is broken. */
  url: string
  /** A second listener, which refuses connections while the receiver is broken. */
  refusingPort: number
  count(): Promise<number>
  /** Everything that arrived since the last time. */
  take(): Promise<Arrivals>
  /** While it is broken it never answers paths under /hang. */
  setBroken(broken: boolean): Promise<void>
  /** Waits for the webhook of each lead; how long after the answer it arrived, in milliseconds. */
  waitsOf(created: Created[]): Promise<number[]>
  stop(): Promise<void>
}

/** A webhook receiver in a process of its own. */
export const startReceiver = async (): Promise<Receiver> => {
  const { ready, stop } = await startProgram('load/receiver')
  const { port, refusingPort, controlPort } = ready as Record<string, number>
  const ask = async <T>(what: string) =>
    (await (await fetch(`http://127.0.0.1:${controlPort}/${what}`)).json()) as T
  const take = () => ask<Arrivals>('take')
  const waitsOf = async (created: Created[]) => {
    const arrivedAt = new Map<string, number>()
    const isMissing = ({ reference }: Created) => !arrivedAt.has(reference)
    await poll(
      async () => {
        for (const [reference, at] of await take())
          if (!arrivedAt.has(reference)) arrivedAt.set(reference, at)
        return !created.some(isMissing)
      },
      { what: `${created.length} webhooks`, timeoutMs: 60_000, everyMs: 100 },
    )
    return created.map(({ reference, answeredAt }) => arrivedAt.get(reference)! - answeredAt)
  }
  return {
    ...{ port: port!, url: `http://127.0.0.1:${port}/ok`, refusingPort: refusingPort!, take, waitsOf, stop },
    count: () => ask('count'),
    setBroken: async (broken) => void (await ask(broken ? 'break' : 'mend')),
  }
}
