import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { holdPlace } from '../admission/admission'
import { operation } from '../api/operation'

const POLL_MS = 1000
/** Load balancers close a connection that is silent for a minute. */
const HEARTBEAT_MS = 15_000

type Progress = ReturnType<typeof progressOf>

const progressOf = (body: Uint8Array) => {
  const { data }: { data: { state: string; bytes_read: number; finished_at: unknown } } = JSON.parse(
    String(body),
  )
  // Changes when the import does.
  const id = `${data.state}-${data.bytes_read}`
  const ended = data.finished_at !== null
  const event = `event: ${ended ? 'end' : 'progress'}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
  return { id, ended, event }
}

/** The state of the import whenever it has changed, until it has ended. */
async function* eventsOf(
  first: Progress,
  poll: () => Promise<Progress>,
  { signal, draining, recheck }: { signal: AbortSignal; draining: AbortSignal; recheck: () => Promise<void> },
): AsyncGenerator<string> {
  yield first.event
  let sentAt = Date.now()
  // In a drain the stream ends, and the client connects to another copy.
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
    'Server-sent events whose data is the import: `progress` when it has moved, at most once a second, and `end` when it has ended. Then the stream ends, and who connects again with the `Last-Event-ID` of the end gets 204.',
  answer: { description: 'Events.', types: ['text/event-stream'] },
  handler: async ({ request, pathId, reply, accountId, clients, limits, recheck, dependencies }) => {
    const { admission, draining } = dependencies
    const importId = pathId()
    const signal = limits.goneSignal()
    const poll = async () =>
      progressOf((await clients.imports.retrieveImport({ accountId, importId }, { signal })).body)
    const first = await poll()
    reply.headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    if (request.method === 'HEAD') return undefined
    if (first.ended && request.headers['last-event-id'] === first.id) return void reply.code(204)
    await holdPlace(reply, admission.eventStreams(accountId))
    return Readable.from(eventsOf(first, poll, { signal, draining, recheck }), { objectMode: false })
  },
})
