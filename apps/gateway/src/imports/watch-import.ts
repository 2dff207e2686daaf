import { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createAccountLimit } from '../admission/account-limiter'
import { limitsOf } from '../api/call-limits'
import type { Dependencies } from '../api/dependencies'
import { describe } from '../api/describe'
import { pathId } from '../api/path-id'
import { IdParams } from '../api/schemas'
import { serveFile } from '../api/send-file'
import { refuseQuery } from '../body/query'

const LOOK_MS = 1000
/** Load balancers cut what says nothing for a minute. */
const HEARTBEAT_MS = 15_000
const AT_ONCE = 32

interface Progress {
  /** Changes when the import does. */
  id: string
  ended: boolean
  /** JSON on one line. */
  data: string
}

const eventOf = ({ id, ended, data }: Progress) =>
  `event: ${ended ? 'end' : 'progress'}\nid: ${id}\ndata: ${data}\n\n`

const progressOf = (body: Uint8Array): Progress => {
  const { data } = JSON.parse(String(body)) as {
    data: { state: string; bytes_read: number; finished_at: unknown }
  }
  return {
    id: `${data.state}-${data.bytes_read}`,
    ended: data.finished_at !== null,
    data: JSON.stringify(data),
  }
}

/** Says what the import is, whenever that is something else, until it has ended. */
async function* eventsOf(
  first: Progress,
  look: () => Promise<Progress>,
  { signal, draining }: { signal: AbortSignal; draining: AbortSignal },
): AsyncGenerator<string> {
  yield eventOf(first)
  let saidAt = Date.now()
  // In a drain the stream ends, and the client connects to another copy.
  for (let last = first; !last.ended && !draining.aborted; ) {
    await pause(LOOK_MS, undefined, { signal })
    const progress = await look()
    if (progress.id !== last.id) yield eventOf(progress)
    else if (Date.now() - saidAt > HEARTBEAT_MS) yield ': still there\n\n'
    else continue
    saidAt = Date.now()
    last = progress
  }
}

/** GET /manage/imports/:id/events: how far an import is, as server-sent events. */
export const watchImport = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients, draining } = dependencies
  const enter = createAccountLimit(AT_ONCE, 'streams of events')
  const options = {
    onRequest: authenticate('manage'),
    schema: describe({
      operationId: 'watchImport',
      tag: 'Management',
      summary: 'Watch an import',
      description:
        'Server-sent events whose data is the import: `progress` when it has moved, at most once a second, and `end` when it has ended. Then the stream ends, and who connects again with the `Last-Event-ID` of the end gets 204.',
      scope: 'manage',
      params: IdParams,
      answer: { description: 'Events.', types: ['text/event-stream'] },
    }),
  }
  serveFile(app, '/manage/imports/:id/events', options, async (request, reply) => {
    refuseQuery(request)
    const { accountId } = request.principal
    const importId = pathId(request)
    const signal = limitsOf(reply).goneSignal()
    const look = async () =>
      progressOf((await clients.imports.retrieveImport({ accountId, importId }, { signal })).body)
    const first = await look()
    reply.headers({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    if (request.method === 'HEAD') return reply.send()
    if (first.ended && request.headers['last-event-id'] === first.id) return reply.code(204).send()
    const leave = enter(accountId)
    reply.raw.once('close', leave)
    return reply.send(Readable.from(eventsOf(first, look, { signal, draining }), { objectMode: false }))
  })
}
