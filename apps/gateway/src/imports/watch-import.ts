import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'

const POLL_MS = 1000
/**
 * After this time, a silent stream sends a heartbeat. Load balancers close a connection that is silent for a
 * minute.
 */
const HEARTBEAT_MS = 15_000

type Progress = ReturnType<typeof readProgress>

const readProgress = (body: Uint8Array) => {
  const { data }: { data: { state: string; bytes_read: number; finished_at: unknown } } = JSON.parse(
    String(body),
  )
  // The `id` changes whenever the import changes.
  const id = `${data.state}-${data.bytes_read}`
  const ended = data.finished_at !== null
  const event = `event: ${ended ? 'end' : 'progress'}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
  return { id, ended, event }
}

/**
 * Yields the state of the import after each change, until the import has ended. Yields a heartbeat after a
 * silence.
 */
async function* streamEvents(
  first: Progress,
  poll: () => Promise<Progress>,
  { signal, draining, recheck }: { signal: AbortSignal; draining: AbortSignal; recheck: () => Promise<void> },
): AsyncGenerator<string> {
  yield first.event
  let sentAt = Date.now()
  // During a drain the stream ends, and the client connects to another copy.
  for (let last = first; !last.ended && !draining.aborted; ) {
    await pause(POLL_MS, undefined, { signal })
    await recheck()
    const progress = await poll()
    if (progress.id !== last.id) yield progress.event
    else if (Date.now() - sentAt > HEARTBEAT_MS) yield ': still there\n\n'
    else continue
    sentAt = Date.now()
    last = progress
  }
}

export const watchImport = operation({
  route: 'GET /manage/imports/:id/events',
  summary: 'Watch an import',
  description:
    'Streams the import as server-sent events: `progress` after each change, at most once a second, and `end` when the import has ended. The stream then closes. Reconnecting with the `Last-Event-ID` of the `end` event returns 204.',
  answer: { description: 'Server-sent events.', types: ['text/event-stream'] },
  handler: async ({ request, pathId, reply, accountId, clients, limits, recheck, dependencies }) => {
    const { admission, draining } = dependencies
    const importId = pathId()
    const signal = limits.goneSignal()
    const poll = async () =>
      readProgress((await clients.imports.retrieveImport({ accountId, importId }, { signal })).body)
    const first = await poll()
    reply.headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    if (request.method === 'HEAD') return undefined
    if (first.ended && request.headers['last-event-id'] === first.id) return void reply.code(204)
    await holdPlace(reply, admission.eventStreams(accountId))
    return Readable.from(streamEvents(first, poll, { signal, draining, recheck }), { objectMode: false })
  },
})
