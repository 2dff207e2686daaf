import { poll } from '@leadwire/embedded'
import { startProgram } from '../process/start-program'
import type { Created } from './create-at-rate'

/** The reference of each webhook's lead, and when the request arrived, in milliseconds since 1970. */
export type Arrivals = [reference: string, at: number][]

export interface Receiver {
  port: number
  /** Requests to this URL always get the response 200. */
  url: string
  /** The port of a second listener, which refuses connections while the receiver is broken. */
  refusingPort: number
  /** Returns the number of webhooks that have arrived since the last `take`. */
  count(): Promise<number>
  /** Returns the webhooks that have arrived since the last call. */
  take(): Promise<Arrivals>
  /** A broken receiver never responds to paths under /hang. */
  setBroken(broken: boolean): Promise<void>
  /**
   * Waits for the webhook of each lead. Returns the latency of each webhook: the milliseconds from the
   * response to the create until the webhook arrived. The latency is negative if the webhook arrived before
   * the response.
   */
  waitForWebhooks(created: Created[]): Promise<number[]>
  stop(): Promise<void>
}

/** Starts a receiver of webhooks in a separate process. */
export const startReceiver = async (): Promise<Receiver> => {
  const { ready, stop } = await startProgram('load/receiver')
  const { port, refusingPort, controlPort } = ready as Record<'port' | 'refusingPort' | 'controlPort', number>
  const control = async <T>(command: 'take' | 'count' | 'break' | 'mend') =>
    (await (await fetch(`http://127.0.0.1:${controlPort}/${command}`)).json()) as T
  const take = () => control<Arrivals>('take')
  const waitForWebhooks = async (created: Created[]) => {
    const arrivedAt = new Map<string, number>()
    const haveArrived = async () => {
      for (const [reference, at] of await take()) if (!arrivedAt.has(reference)) arrivedAt.set(reference, at)
      return created.every(({ reference }) => arrivedAt.has(reference))
    }
    await poll(haveArrived, { what: `${created.length} webhooks`, timeoutMs: 60_000, everyMs: 100 })
    return created.map(({ reference, respondedAt }) => arrivedAt.get(reference)! - respondedAt)
  }
  return {
    port,
    url: `http://127.0.0.1:${port}/ok`,
    refusingPort,
    count: () => control('count'),
    take,
    setBroken: async (broken) => {
      await control(broken ? 'break' : 'mend')
    },
    waitForWebhooks,
    stop,
  }
}
