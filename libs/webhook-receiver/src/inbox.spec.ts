import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInbox, type InboxEvent, type InboxOptions, memoryInboxStore, standardSignature } from './index'

const SECRET = 'a-secret-of-my-own'

type Record = { id: string; sequence: number; type: string; lead_reference: string; lead_version: number }
type Reply = { status?: number; json: object }

let server: Server
let url: string
/** Returns the response of the feed to a query. */
let answer: (query: URLSearchParams) => Reply | Promise<Reply>
/** The queries of the feed so far. */
let queries: string[]

beforeAll(async () => {
  server = createServer(async ({ url: path, headers }, response) => {
    const { pathname, search, searchParams } = new URL(path!, 'http://feed')
    queries.push(search)
    expect([pathname, headers.authorization]).toEqual(['/manage/events', 'Bearer a-token'])
    const { status = 200, json } = await answer(searchParams)
    response.writeHead(status).end(JSON.stringify(json))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => new Promise((resolve) => server.close(resolve)))
beforeEach(() => {
  queries = []
  log = []
  answer = serve
})

/**
 * The event log of the feed, which serves two events per page. A cursor is the number of events before the
 * page.
 */
let log: (Record & { test?: boolean; body?: object | null })[]
const serve = (query: URLSearchParams): Reply => {
  const start = Number(query.get('after') ?? 0)
  const types = query.get('types')?.split(',')
  const scanned = log.slice(start, start + 2)
  const data = scanned.filter(({ type }) => !types || types.includes(type))
  return {
    json: {
      data: data.map((one) => ({ test: false, erased: false, body: makeBody(one), ...one })),
      next_cursor: String(start + scanned.length),
    },
  }
}

const event = (sequence: number, over: Partial<Record> = {}): Record => ({
  id: `event-${sequence}`,
  sequence,
  type: 'lead.updated',
  lead_reference: `lead-${sequence}`,
  lead_version: 1,
  ...over,
})
const makeBody = ({ type, lead_reference: reference }: Record) => ({
  ...(type !== 'lead.created' && { type }),
  data: type.startsWith('lead.') ? { reference } : { lead_reference: reference },
})

const start = (over: Partial<InboxOptions<undefined>> = {}) => {
  const done: InboxEvent[] = []
  const gaps: object[] = []
  const inbox = createInbox({
    secret: SECRET,
    feed: { url, token: 'a-token' },
    store: memoryInboxStore(),
    work: (one) => void done.push(one),
    onGap: (gap) => gaps.push(gap),
    ...over,
  })
  const receive = (one: Record, more: object = {}) => {
    const body = JSON.stringify(makeBody(one))
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = standardSignature(body, { id: one.id, timestamp }, SECRET)
    return inbox.receive(body, {
      'webhook-id': one.id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signature,
      'webhook-sequence': `${one.sequence}`,
      'webhook-lead-version': `${one.lead_version}`,
      ...more,
    })
  }
  return { inbox, receive, done, gaps, ids: () => done.map(({ id }) => id) }
}

it('keeps no event of a lead that was erased after the page was requested', async () => {
  const kept: string[] = []
  const erasure = event(3, { type: 'lead.erased', lead_reference: 'lead-2', lead_version: 2 })
  const { inbox, receive } = start({
    work: async ({ id }) => {
      if (id === 'event-1') await receive(erasure)
      kept.push(id)
    },
  })
  log = [event(1), event(2, { type: 'lead.created' })]
  expect([await inbox.catchUp(), await inbox.catchUp()]).toEqual([1, 0])
  expect(kept).toEqual(['event-3', 'event-1'])
})

it('keeps an event once, whether the webhook or the feed delivers it', async () => {
  const { inbox, receive, done, ids } = start()
  log = [event(1), event(2), event(3, { type: 'appointment.scheduled' })]
  expect(await inbox.catchUp()).toBe(3)
  expect(await receive(event(2))).toEqual({ status: 200, outcome: 'duplicate' })
  log.push(event(4))
  expect(await receive(event(4))).toEqual({ status: 200, outcome: 'kept' })
  expect(await receive(event(4))).toEqual({ status: 200, outcome: 'duplicate' })
  expect(await inbox.catchUp()).toBe(0)
  expect(ids()).toEqual(['event-1', 'event-2', 'event-3', 'event-4'])
  expect(done[2]).toEqual({
    id: 'event-3',
    type: 'appointment.scheduled',
    sequence: 3,
    leadReference: 'lead-3',
    leadVersion: 1,
    payload: { type: 'appointment.scheduled', data: { lead_reference: 'lead-3' } },
    stale: false,
  })
})

it('refuses an older update, but no Lead Created and no event that is not a state of the lead', async () => {
  const { receive, done } = start()
  const of = (sequence: number, type: string, lead_version: number) =>
    event(sequence, { type, lead_version, lead_reference: 'lead' })
  expect(await receive(of(4, 'lead.updated', 4))).toMatchObject({ outcome: 'kept' })
  expect(await receive(of(3, 'lead.updated', 3))).toEqual({ status: 200, outcome: 'stale' })
  expect(await receive(of(2, 'callback.scheduled', 2))).toMatchObject({ outcome: 'kept' })
  expect(await receive(of(1, 'lead.created', 1))).toMatchObject({ outcome: 'kept' })
  expect(done.map(({ sequence, stale }) => [sequence, stale])).toEqual([
    [4, false],
    [2, false],
    [1, true],
  ])
})

it('reports a gap, and reads the feed from its cursor to fill the gap', async () => {
  const { inbox, receive, gaps, ids } = start()
  log = [event(1), event(2)]
  await inbox.catchUp()
  queries = []
  log = [1, 2, 3, 4, 5, 6].map((at) => event(at))
  await receive(event(3))
  expect([gaps, queries]).toEqual([[], []])
  await receive(event(6))
  expect(gaps).toEqual([{ from: 4, to: 5 }])
  await inbox.catchUp()
  expect(queries[0]).toBe('?limit=100&after=2')
  expect(ids()).toEqual([1, 2, 3, 6, 4, 5].map((at) => `event-${at}`))
  await receive(event(5))
  expect(gaps).toHaveLength(1)
})

it('reads the feed with the first webhook, and reports no gap', async () => {
  const { inbox, receive, gaps, ids } = start()
  log = [event(1), event(2)]
  await receive(event(2))
  await inbox.catchUp()
  expect([gaps, ids()]).toEqual([[], ['event-2', 'event-1']])
})

it('keeps only the types and leads of its endpoint from the feed', async () => {
  const types = ['lead.created', 'lead.updated']
  const { inbox, receive, gaps, ids } = start({
    feed: { url: `${url}/`, token: 'a-token', types, leads: 'live' },
  })
  log = [event(1), event(2, { type: 'attachment.added' }), { ...event(3), test: true }, event(4)]
  await inbox.catchUp()
  expect(queries[0]).toBe('?limit=100&types=lead.created%2Clead.updated')
  log.push(event(5, { type: 'attachment.added' }), event(6), event(7))
  await receive(event(6))
  await inbox.catchUp()
  await receive(event(7))
  expect(gaps).toEqual([{ from: 5, to: 5 }])
  expect(ids()).toEqual([1, 4, 6, 7].map((at) => `event-${at}`))
})

it('skips an erased event, and reports no gap for a test send', async () => {
  const { inbox, receive, gaps, ids } = start()
  log = [{ ...event(1), body: null }, event(2)]
  await inbox.catchUp()
  await receive(event(9, { id: 'sample' }), { 'webhook-sequence': undefined })
  expect([gaps, ids()]).toEqual([[], ['event-2', 'sample']])
})

it('calls onGone if its cursor has expired, and continues with the oldest event', async () => {
  let attempts = 0
  const store = memoryInboxStore()
  const onGone = () => {
    attempts += 1
    if (attempts === 1) throw new Error('not compared')
  }
  const { inbox, receive, gaps, ids } = start({ store, onGone })
  log = [1, 2, 3].map((at) => event(at))
  await store.saveCursor('another log’s')
  answer = (query) =>
    query.get('after') === 'another log’s' ? { status: 410, json: { oldest_cursor: '1' } } : serve(query)
  await expect(inbox.catchUp()).rejects.toThrow('not compared')
  expect(await inbox.catchUp()).toBe(2)
  expect([attempts, ids()]).toEqual([2, ['event-2', 'event-3']])
  log.push(event(4))
  await receive(event(4))
  expect(gaps).toEqual([])
})

it('does not advance past an event whose work fails', async () => {
  let broken = true
  const store = memoryInboxStore()
  const work = ({ sequence }: InboxEvent) => {
    if (broken && sequence === 3) throw new Error('no disk')
  }
  const { inbox, receive } = start({ store, work })
  log = [1, 2, 3, 4].map((at) => event(at))
  await expect(inbox.catchUp()).rejects.toThrow('no disk')
  expect(await store.cursor()).toBe('2')
  await expect(receive(event(3))).rejects.toThrow('no disk')
  broken = false
  expect(await inbox.catchUp()).toBe(2)
})

it('waits for a webhook in progress, and does the work if that failed', async () => {
  let fail = (_: Error) => {}
  const first = new Promise<void>((_, reject) => {
    fail = reject
  })
  let attempts = 0
  const work = () => {
    attempts += 1
    return attempts === 1 ? first : undefined
  }
  const { inbox, receive } = start({ work })
  log = [event(1)]
  const webhook = receive(event(1))
  expect(await receive(event(1))).toEqual({ status: 409, outcome: 'in_progress' })
  const reading = inbox.catchUp()
  fail(new Error('not kept'))
  await expect(webhook).rejects.toThrow('not kept')
  expect(await reading).toBe(1)
  expect(attempts).toBe(2)
})

it('shares one read among calls during a read, and reports errors of the feed', async () => {
  const errors: unknown[] = []
  const reported = new Promise<void>((resolve) => {
    answer = () => ({ status: 503, json: { detail: 'Try again.' } })
    const onError = (error: unknown) => resolve(void errors.push(error))
    start({ onError }).receive(event(2))
  })
  await reported
  expect(errors).toEqual([new Error('The feed responded with 503: Try again.')])
  answer = serve
  queries = []
  const { inbox } = start()
  expect(await Promise.all([1, 2, 3].map(() => inbox.catchUp()))).toEqual([0, 0, 0])
  expect(queries).toHaveLength(2)
})

it('refuses a webhook that does not verify', async () => {
  const { inbox } = start()
  expect(await inbox.receive('{}', {})).toEqual({ status: 401, outcome: 'missing_header' })
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = standardSignature('{', { id: 'x', timestamp }, SECRET)
  const headers = { 'webhook-id': 'x', 'webhook-timestamp': timestamp, 'webhook-signature': signature }
  expect(await inbox.receive('{', headers)).toEqual({ status: 400, outcome: 'malformed_body' })
})
