import { setTimeout as pause } from 'node:timers/promises'
import { type Leadwire, LeadwireProblem } from '@leadwire/client'
import type { Event } from './arrivals'

interface Options {
  /** The sequence to begin with; what comes from now on when absent. */
  from: number | undefined
  types: string[] | undefined
  /** What becomes of it, and the error where there was one. */
  report(line: string, error?: unknown): void
}

/** Of the API; `connectApi` must wait longer. */
const WAIT_SECONDS = 25
const RETRY_MS = 1000

/** Without a response, or one that another attempt may change. */
const isTemporary = ({ status }: LeadwireProblem) => status === 0 || status === 429 || status >= 500

/**
 * The log of the account, without end; `begun` is called when its place is known. Continues through whatever passes, and with the oldest
 * event when its place is gone. Throws for all else, and for whatever fails before it has begun.
 */
export async function* readEvents(
  { api }: Leadwire,
  { from, types, report, begun }: Options & { begun(): void },
): AsyncGenerator<Event> {
  const read = async (place: { after: string; wait?: number } | { from_sequence: number }) => {
    const query = { ...place, ...(types && { types: types.join() }), limit: 100 }
    return (await api.GET('/manage/events', { params: { query } })).data!
  }
  let page = await read(from === undefined ? { after: 'now' } : { from_sequence: from })
  begun()
  for (let after = page.next_cursor, isConnected = true; ; ) {
    yield* page.data
    try {
      page = await read({ after, wait: WAIT_SECONDS })
      after = page.next_cursor
      if (!isConnected) report('connected again')
      isConnected = true
    } catch (error) {
      if (!(error instanceof LeadwireProblem)) throw error
      page = { data: [], next_cursor: after }
      if (error.oldestCursor) {
        report('continuing with the oldest event that is kept; others may be missing', error)
        after = error.oldestCursor
        continue
      }
      if (!isTemporary(error)) throw error
      if (isConnected) report('trying again each second', error)
      isConnected = false
      await pause(RETRY_MS)
    }
  }
}
