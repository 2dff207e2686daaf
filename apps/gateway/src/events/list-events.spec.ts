import { EventEmitter, on } from 'node:events'
import type { ListEventsRequest, ListEventsResponse } from '@leadwire/contracts'
import { encodeCursor } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { startGateway } from '../gateway.fixture'

const event = (sequence: number) => ({
  id: '4a2f7d0c-3e6a-4b7e-8d51-1f0f5d6c7b8a',
  sequence,
  type: 'lead.created',
  leadVersion: 1,
  leadReference: '9b2fbb0e-7d0c-4c53-a6fd-5ed4c7a8b0d4',
  test: false,
  createdAt: '2026-11-21T09:30:00.000001Z',
  body: Buffer.from('{"data":{}}'),
})

type Read = (request: ListEventsRequest) => Promise<ListEventsResponse>

/** Starts a gateway with a log of account 3. The cursors of the log are numbers. */
const start = async () => {
  const stored = new EventEmitter()
  const read: Read = async ({ after }) => {
    const events = Number(after ?? 0) < log.last ? [event(log.last)] : []
    return { events, gone: false, nextCursor: String(log.last), ended: true }
  }
  const log = {
    last: 0,
    reads: 0,
    streams: 0,
    read,
    onWatch: (): void => undefined,
    store: () => {
      log.last += 1
      stored.emit('stored', [3])
    },
    endStreams: () => stored.emit('end'),
  }
  const gateway = await startGateway({
    webhooks: {
      listEvents: (request) => {
        log.reads += 1
        return log.read(request)
      },
      watchLogs: async function* (_request, { signal }) {
        log.streams += 1
        const accounts = on(stored, 'stored', { signal, close: ['end'] })
        yield { accountIds: [] }
        log.onWatch()
        for await (const [accountIds] of accounts) yield { accountIds }
      },
    },
  })
  const poll = async (query = '') => {
    const answer = await gateway.send({ method: 'GET', url: `/manage/events?wait=30${query}` })
    return answer.json<{ data: { sequence: number }[]; next_cursor: string }>()
  }
  return { log, poll, stop: gateway.stop }
}

let feed: Awaited<ReturnType<typeof start>>
beforeEach(async () => {
  feed = await start()
})
afterEach(() => feed.stop())

const listSequences = ({ data }: Awaited<ReturnType<typeof feed.poll>>) =>
  data.map(({ sequence }) => sequence)

test('polls that wait share one stream, and their reads', async () => {
  const { log, poll } = feed
  log.onWatch = () => setImmediate(log.store)
  const pages = await Promise.all(Array.from({ length: 300 }, () => poll()))
  for (const page of pages) expect(listSequences(page)).toEqual([1])
  expect(log.streams).toBe(1)
  expect(log.reads).toBeLessThan(30)
})

test('a poll has what was stored while there was no stream', async () => {
  const { log, poll } = feed
  const { read } = log
  log.read = (request) => {
    const page = read(request)
    // The first message of the stream causes the second read. Stores an event just after this read, and ends
    // the stream without a message about the event. Only the next stream can then wake the poll.
    if (log.reads === 2) {
      log.last += 1
      setImmediate(log.endStreams)
    }
    return page
  }
  expect(listSequences(await poll())).toEqual([1])
  expect(log.streams).toBe(2)
})

test('a poll goes on when webhook-service was unavailable for a moment', async () => {
  const { log, poll } = feed
  const { read } = log
  log.onWatch = log.store
  log.read = (request) => {
    if (log.reads === 2) throw new ServiceError('unavailable', 'Not now.')
    return read(request)
  }
  expect(listSequences(await poll())).toEqual([1])
})

test('an empty page that is not the end of the log is no reason to wait', async () => {
  const { log, poll } = feed
  log.read = async () => ({ events: [], gone: false, nextCursor: '1000', ended: false })
  expect(await poll('&types=lead.updated')).toEqual({ data: [], next_cursor: encodeCursor('1000') })
})

test('a drain answers the polls that wait', async () => {
  const { log, poll, stop } = feed
  log.onWatch = () => void stop()
  expect(listSequences(await poll())).toEqual([])
})
