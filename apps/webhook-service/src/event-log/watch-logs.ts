import { EventEmitter, on } from 'node:events'
import { LOGGED_SUBJECT, type WatchLogsResponse } from '@leadwire/contracts'
import type { NatsConnection } from '@nats-io/transport-node'

/**
 * How long a stream stays open. The caller then opens another stream, which may reach a new copy of this
 * service. All readers read their logs again when a stream starts, so a message that NATS has lost delays the
 * readers by at most this time.
 */
const WATCH_MS = 10_000

/**
 * Creates the streams that notify the copies of the gateway which accounts have new events. Each copy of the
 * gateway needs only one stream, however many readers wait.
 */
export const createLogWatch = (draining: AbortSignal) => {
  const logs = new EventEmitter().setMaxListeners(0)
  draining.addEventListener('abort', () => logs.emit('drain'))
  return {
    /**
     * Yields the accounts whose events any copy of this service has just stored. The first message is empty.
     * Ends after 10 s, or when a drain starts.
     */
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
