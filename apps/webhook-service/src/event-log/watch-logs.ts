import { EventEmitter, on } from 'node:events'
import { LOGGED_SUBJECT, type WatchLogsResponse } from '@leadwire/contracts'
import type { NatsConnection } from '@nats-io/transport-node'

/** Callers find new copies of this service only when they open another stream. A lost message of NATS delays a reader so long. */
const WATCH_MS = 10_000

/** Which accounts have new events, for the readers in all copies of the gateway: readers that wait hold nothing here. */
export const createLogWatch = (draining: AbortSignal) => {
  const logs = new EventEmitter().setMaxListeners(0)
  draining.addEventListener('abort', () => logs.emit('drain'))
  return {
    /** Accounts whose events this copy or another has stored; the first message has none. Ends in a drain, too. */
    watch: async function* (signal: AbortSignal): AsyncGenerator<WatchLogsResponse> {
      if (draining.aborted) return
      const stored = on(logs, 'stored', { signal, close: ['drain'] })
      const end = () => void stored.return?.()
      const timer = setTimeout(end, WATCH_MS)
      try {
        yield { accountIds: [] }
        for await (const [accountIds] of stored) yield { accountIds }
      } finally {
        clearTimeout(timer)
        end()
      }
    },
    connect: (nats: NatsConnection): void => {
      nats.subscribe(LOGGED_SUBJECT, {
        callback: (error, message) => {
          if (!error) logs.emit('stored', message.json<number[]>())
        },
      })
    },
  }
}

export type LogWatch = ReturnType<typeof createLogWatch>
