import { randomUUID } from 'node:crypto'
import { eventually } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let services: Awaited<ReturnType<typeof startService>>[]
const list = (request: {
  accountId: number
  after?: string
  fromSequence?: number
  types?: string[]
  limit?: number
}) => services[0]!.client.listEvents({ types: [], limit: 100, ...request })

beforeAll(async () => {
  doors = await openDoors()
  services = [await startService(doors), await startService(doors)]
})
afterAll(async () => {
  await Promise.all(services.map(({ stop }) => stop()))
  await doors.close()
})

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

const store = async (accountId: number, count: number, over: Parameters<typeof doors.event>[1] = {}) => {
  const events = upTo(count).map(() => doors.event(accountId, over))
  await doors.publish(...events)
  const eventIds = events.map(({ eventId }) => eventId)
  await eventually(async () =>
    expect((await services[0]!.client.findStoredEvents({ eventIds })).eventIds).toHaveLength(count),
  )
  return events
}

/** Reads from a cursor to the end of the log. */
const readAll = async (
  accountId: number,
  more: { after?: string; types?: string[]; limit?: number } = {},
) => {
  const sequences: number[] = []
  for (let after = more.after; ; ) {
    const page = await list({ accountId, ...more, ...(after !== undefined && { after }) })
    expect(page.gone).toBe(false)
    sequences.push(...page.events.map(({ sequence }) => sequence))
    if (page.nextCursor === after) return { sequences, cursor: after }
    after = page.nextCursor
  }
}

test('pages have all events in order with their bodies, and end at the end of the log', async () => {
  const [first] = await store(1, 1, { leadVersion: 7, test: true })
  const { events, nextCursor } = await list({ accountId: 1 })
  expect(events).toEqual([
    {
      id: first!.eventId,
      sequence: 1,
      type: 'lead.created',
      leadReference: first!.leadReference,
      leadVersion: 7,
      test: true,
      createdAt: expect.stringMatching(/^20.*Z$/),
      body: Buffer.from(first!.body),
    },
  ])
  await store(1, 30)
  expect((await readAll(1, { after: nextCursor, limit: 7 })).sequences).toEqual(upTo(31).slice(1))
  expect((await readAll(1)).sequences).toEqual(upTo(31))
  expect(await list({ accountId: 1, after: 'now' })).toMatchObject({ events: [], ended: true })
})

test('the cursor of a page with types skips events of other types', async () => {
  await store(2, 3)
  await store(2, 2, { type: 'lead.updated' })
  const page = await list({ accountId: 2, types: ['lead.updated'], limit: 1 })
  expect(page.events.map(({ sequence }) => sequence)).toEqual([4])
  expect(page.ended).toBe(false)
  expect((await readAll(2, { types: ['lead.updated'], limit: 1 })).sequences).toEqual([4, 5])
  const none = await list({ accountId: 2, types: ['attachment.added'] })
  expect(none).toMatchObject({ events: [], ended: true })
  expect((await readAll(2, { after: none.nextCursor })).sequences).toEqual([])
})

test('a reader starts with a sequence number, at most the next one, and continues with cursors', async () => {
  await store(11, 3)
  const from = async (fromSequence: number) => {
    const { events, gone, nextCursor } = await list({ accountId: 11, fromSequence, limit: 1 })
    return { sequences: events.map(({ sequence }) => sequence), gone, nextCursor }
  }
  for (const sequence of [1, 2, 3]) {
    const page = await from(sequence)
    expect(page).toMatchObject({ sequences: [sequence], gone: false })
    const { sequences } = await readAll(11, { after: page.nextCursor })
    expect(sequences).toEqual(upTo(3).slice(sequence))
  }
  expect(await from(5)).toMatchObject({ sequences: [], gone: true })
  const next = await from(4)
  expect(next).toMatchObject({ sequences: [], gone: false })
  await doors.publish(doors.event(11))
  await eventually(async () => expect(await from(4)).toMatchObject({ sequences: [4], gone: false }))
  expect((await readAll(11, { after: next.nextCursor })).sequences).toEqual([4])
  await doors.rows('DELETE FROM deliveries WHERE account_id = 11')
  await doors.rows('DELETE FROM events WHERE account_id = 11 AND number <= 2')
  expect(await from(2)).toMatchObject({ sequences: [], gone: true })
  expect(await from(3)).toMatchObject({ sequences: [3], gone: false })
})

test('a page has at most two megabytes of bodies, but at least one event', async () => {
  const body = Buffer.from(JSON.stringify({ data: { name: 'x'.repeat(700_000) } }))
  await store(3, 4, { body })
  const page = await list({ accountId: 3 })
  expect(page.events.map(({ sequence }) => sequence)).toEqual([1, 2])
  expect((await readAll(3, { after: page.nextCursor })).sequences).toEqual([3, 4])
})

test('an erased event keeps its number and loses its body', async () => {
  const leadReference = randomUUID()
  const [event] = await store(4, 1, { leadReference })
  await store(4, 1)
  const erased = { accountId: 4, leadReference, eventIds: [event!.eventId], tombstone: true }
  await services[0]!.client.eraseLeadEvents(erased)
  const { events } = await list({ accountId: 4 })
  expect(events.map(({ sequence, body }) => [sequence, body.length > 0])).toEqual([
    [1, false],
    [2, true],
  ])
})

test('an invalid cursor is refused', async () => {
  for (const after of ['', 'x', 'NOW', '1.x'])
    await expect(list({ accountId: 6, after })).rejects.toMatchObject({ code: 'invalid' })
})

test('a cursor is gone if later events were pruned, or if it is from another log', async () => {
  await store(7, 3)
  const { nextCursor: one } = await list({ accountId: 7, limit: 1 })
  const { nextCursor: two } = await list({ accountId: 7, limit: 2 })
  const { cursor: end } = await readAll(7)
  await doors.rows('DELETE FROM deliveries WHERE account_id = 7')
  await doors.rows('DELETE FROM events WHERE account_id = 7 AND number <= 2')
  // No event after this cursor was pruned.
  expect((await readAll(7, { after: two })).sequences).toEqual([3])
  const gone = await list({ accountId: 7, after: one })
  expect(gone).toMatchObject({ gone: true, events: [] })
  expect((await readAll(7, { after: gone.nextCursor })).sequences).toEqual([3])
  await store(8, 3)
  expect(await list({ accountId: 8, after: end! })).toMatchObject({ gone: true })
  expect(await list({ accountId: 8, after: `2.${'-'.repeat(36)}` })).toMatchObject({ gone: true })
  // The next three statements simulate the restore of a backup that lacks event 3. `later` is a cursor at
  // event 3.
  await doors.rows('UPDATE event_counters SET last = 2 WHERE account_id = 8')
  const { cursor: later } = await readAll(8)
  await doors.rows('DELETE FROM events WHERE account_id = 8 AND number = 3')
  expect(await list({ accountId: 8, after: later! })).toMatchObject({ gone: true })
  await store(8, 1)
  expect(await list({ accountId: 8, after: later! })).toMatchObject({ gone: true })
  await doors.rows('DELETE FROM events WHERE account_id = 7')
  expect(await list({ accountId: 7, after: end! })).toMatchObject({ gone: false, events: [] })
})

/**
 * Reads the log like a receiver, which continues after a 410. Resolves with the numbers of the events, and
 * with 'gone' for each 410.
 */
const readThrough = async (
  accountId: number,
  { fromSequence, ...more }: Partial<Parameters<typeof list>[0]> = {},
) => {
  const read: (number | 'gone')[] = []
  let page = await list({ accountId, ...more, ...(fromSequence && { fromSequence }) })
  for (let after: string | undefined; after !== page.nextCursor; ) {
    read.push(...(page.gone ? (['gone'] as const) : page.events.map(({ sequence }) => sequence)))
    after = page.nextCursor
    page = await list({ accountId, ...more, after })
  }
  expect(page).toMatchObject({ events: [], gone: false, ended: true })
  return read
}

const prune = async (accountId: number, ...numbers: number[]) => {
  await doors.rows('DELETE FROM deliveries WHERE account_id = $1', [accountId])
  await doors.rows('DELETE FROM events WHERE account_id = $1 AND number = ANY ($2)', [accountId, numbers])
}

test('a position before pruned events is gone, even if older events are kept, and later events follow', async () => {
  await store(21, 1)
  await store(21, 3, { type: 'lead.updated' })
  await store(21, 1)
  const cursors = await Promise.all(
    upTo(5).map(async (limit) => (await list({ accountId: 21, limit })).nextCursor),
  )
  await prune(21, 2, 3, 4)
  expect(await readThrough(21, { after: cursors[0]! })).toEqual(['gone', 5])
  expect(await readThrough(21, { after: cursors[1]! })).toEqual(['gone', 5])
  expect(await readThrough(21, { after: cursors[3]! })).toEqual([5])
  expect(await readThrough(21, { after: cursors[4]! })).toEqual([])
  for (const fromSequence of [2, 3, 4]) expect(await readThrough(21, { fromSequence })).toEqual(['gone', 5])
  expect(await readThrough(21, { fromSequence: 1 })).toEqual([1, 'gone', 5])
  expect(await readThrough(21, { fromSequence: 5 })).toEqual([5])
  // Events that a page skips because of their types do not count as pruned.
  expect(await readThrough(21, { types: ['lead.created'], after: cursors[0]! })).toEqual(['gone', 5])
  expect(await readThrough(21, { types: ['lead.updated'], after: cursors[0]! })).toEqual(['gone'])
  expect(await readThrough(21, { types: ['lead.updated'], after: cursors[3]! })).toEqual([])
  await store(21, 1)
  expect(await readThrough(21, { after: cursors[4]! })).toEqual([6])
  await prune(21, 5, 6)
  expect(await readThrough(21, { after: cursors[0]! })).toEqual(['gone'])
  await store(21, 1)
  expect(await readThrough(21, { after: cursors[0]! })).toEqual(['gone', 7])
})

test('a page ends before pruned events, and one response reports all gaps that it finds', async () => {
  await store(22, 12)
  const { nextCursor: one } = await list({ accountId: 22, limit: 1 })
  await prune(22, 3, 5, 7, 8, 11)
  for (const limit of [1, 2, 100]) {
    const read = await readThrough(22, { after: one, limit })
    expect(read.filter((each) => each !== 'gone')).toEqual([2, 4, 6, 9, 10, 12])
    expect(read.slice(0, 3)).toEqual([2, 'gone', 4])
    expect(read.filter((each) => each === 'gone')).toHaveLength(1)
  }
  // A reader that starts with the oldest event has missed no event, so it gets no 410.
  for (const limit of [1, 2, 100]) expect(await readThrough(22, { limit })).toEqual([1, 2, 4, 6, 9, 10, 12])
  // Events that are pruned later are reported, also to a reader that has had a 410 before.
  const { nextCursor: afterGap } = await list({ accountId: 22, fromSequence: 5 })
  expect(await readThrough(22, { after: afterGap })).toEqual([6, 9, 10, 12])
  await store(22, 3)
  await prune(22, 13, 14)
  expect(await readThrough(22, { after: afterGap })).toEqual([6, 9, 10, 12, 'gone', 15])
})

test('eight readers read each number once and in order while two processes store events', async () => {
  const count = 600
  const reader = async () => {
    const sequences: number[] = []
    for (let after: string | undefined; sequences.length < count; ) {
      const page = await list({ accountId: 9, limit: 40, ...(after && { after }) })
      sequences.push(...page.events.map(({ sequence }) => sequence))
      after = page.nextCursor
    }
    return sequences
  }
  const readers = upTo(8).map(reader)
  for (let at = 0; at < count; at += 100) await doors.publish(...upTo(100).map(() => doors.event(9)))
  for (const sequences of await Promise.all(readers)) expect(sequences).toEqual(upTo(count))
})
