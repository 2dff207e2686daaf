import { setTimeout as pause } from 'node:timers/promises'
import { type Leadwire, LeadwireProblem } from '@leadwire/client'
import type { Event } from './arrivals'

interface Options {
  /** The sequence number to begin with. If undefined, only new events are read. */
  from: number | undefined
  types: string[] | undefined
  /** Called with a line about the state of the connection, and the error if there was one. */
  report(line: string, error?: unknown): void
}

/** How long the API may wait for new events. The timeout of the client must be longer. */
const WAIT_SECONDS = 25
const RETRY_MS = 1000

/** Whether another attempt may succeed. */
const isTemporary = ({ status }: LeadwireProblem) => status === 0 || status === 429 || status >= 500

/** Returns an error after which reading can continue. Throws any other error. */
const requireRecoverable = (error: unknown): LeadwireProblem => {
  if (error instanceof LeadwireProblem && (error.oldestCursor || isTemporary(error))) return error
  throw error
}

/**
 * Reads the account's event log without end. Throws any error of the first page. Calls `onBegin` after the
 * first page. From then on, retries after temporary errors, continues with the oldest event if the cursor has
 * expired, and throws any other error.
 */
export async function* readEvents(
  { api }: Leadwire,
  { from, types, report, onBegin }: Options & { onBegin(): void },
): AsyncGenerator<Event> {
  const read = async (start: { after: string; wait?: number } | { from_sequence: number }) => {
    const query = { ...start, ...(types && { types: types.join() }), limit: 100 }
    return (await api.GET('/manage/events', { params: { query } })).data!
  }
  let page = await read(from === undefined ? { after: 'now' } : { from_sequence: from })
  onBegin()
  let after = page.next_cursor
  let isConnected = true
  for (;;) {
    yield* page.data
    try {
      page = await read({ after, wait: WAIT_SECONDS })
      after = page.next_cursor
      if (!isConnected) report('connected again')
      isConnected = true
    } catch (error) {
      const { oldestCursor } = requireRecoverable(error)
      page = { data: [], next_cursor: after }
      if (oldestCursor) {
        report('continuing with the oldest event that is kept; earlier events may be missing', error)
        after = oldestCursor
        continue
      }
      if (isConnected) report('retrying every second', error)
      isConnected = false
      await pause(RETRY_MS)
    }
  }
}
