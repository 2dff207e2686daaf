import type { AuditEntry, AuditPosition, ListAuditRequest } from '@leadwire/contracts'
import { encodeCursor } from '@leadwire/requests'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const entry = (number: number, moment: number): AuditEntry => ({
  id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
  at: `2026-11-21T09:30:00.${String(moment).padStart(6, '0')}Z`,
  action: 'user.created',
  targetType: 'user',
  targetId: number,
  tokenId: undefined,
  tokenName: undefined,
  requestId: undefined,
  changes: '{}',
})

interface Answer {
  data: { target: { id: number } }[]
  next_cursor: string | null
}

const isBefore = ({ at, id }: AuditPosition, place: AuditPosition) =>
  at < place.at || (at === place.at && id < place.id)

let gateway: RunningGateway
/** The audit logs of leads-service and webhook-service. The newest entries come first. */
let logs: [AuditEntry[], AuditEntry[]]
let asked: ListAuditRequest[]
beforeAll(async () => {
  gateway = await startGateway({
    accounts: { findUserNames: async () => ({ names: { 5: 'Grace Hopper' } }) },
    audit: {
      // For each response, the gateway calls this function once for each log, so successive calls get the two
      // logs in turn.
      listAudit: async (request) => {
        const log = logs[asked.length % 2]!
        asked.push(request)
        const { before } = request
        return { entries: log.filter((one) => !before || isBefore(one, before)).slice(0, 101) }
      },
    },
  })
})
beforeEach(() => {
  logs = [[], []]
  asked = []
})
afterAll(() => gateway.stop())

const get = (query = '', token = 'all') =>
  gateway.send({ url: `/manage/audit${query}`, headers: { authorization: `Bearer ${token}` } })

test('an entry says who did what to what, and that an operator has no token', async () => {
  const changes = '{"enabled":{"from":true,"to":false}}'
  logs[0] = [
    {
      ...entry(2, 2),
      action: 'webhook_endpoint.updated',
      targetType: 'webhook_endpoint',
      targetId: 9,
      changes,
      tokenId: 7,
      tokenName: 'CRM',
      requestId: 'request-1',
    },
  ]
  logs[1] = [entry(1, 1)]
  expect((await get()).json()).toEqual({
    data: [
      {
        id: entry(2, 2).id,
        at: '2026-11-21T09:30:00.000002Z',
        action: 'webhook_endpoint.updated',
        target: { type: 'webhook_endpoint', id: 9 },
        actor: { type: 'token', id: 7, name: 'CRM' },
        token: { id: 7, name: 'CRM' },
        request_id: 'request-1',
        changes: { enabled: { from: true, to: false } },
      },
      {
        id: entry(1, 1).id,
        at: '2026-11-21T09:30:00.000001Z',
        action: 'user.created',
        target: { type: 'user', id: 1 },
        actor: null,
        token: null,
        request_id: null,
        changes: {},
      },
    ],
    next_cursor: null,
  })
  expect(asked).toEqual([{ accountId: 3 }, { accountId: 3 }])
})

test.each([
  [0, 0],
  [100, 0],
  [101, 0],
  [60, 41],
  [250, 3],
  [130, 130],
])('logs of %i and %i entries are one, newest first, each entry once', async (one, other) => {
  const numbers = Array.from({ length: one + other }, (_, index) => index)
  // Each moment has three entries. The entries are spread over both services.
  const all = numbers.map((number) => entry(number, Math.floor(number / 3)))
  const isOfOne = (number: number) =>
    Math.floor(((number + 1) * one) / (one + other)) > Math.floor((number * one) / (one + other))
  const newest = all.toReversed()
  logs = [
    newest.filter(({ targetId }) => isOfOne(targetId)),
    newest.filter(({ targetId }) => !isOfOne(targetId)),
  ]
  expect(logs.map(({ length }) => length)).toEqual([one, other])
  const [seen, lengths]: [number[], number[]] = [[], []]
  let cursor: string | null = ''
  do {
    const answer: Answer = (await get(`?cursor=${encodeURIComponent(cursor)}`)).json()
    lengths.push(answer.data.length)
    seen.push(...answer.data.map(({ target }) => target.id))
    cursor = answer.next_cursor
  } while (cursor !== null)
  expect(seen).toEqual(numbers.toReversed())
  expect(lengths.slice(0, -1).every((length) => length === 100)).toBe(true)
  expect(lengths).toHaveLength(Math.max(1, Math.ceil((one + other) / 100)))
})

test.each([
  'x',
  '7',
  '2026-11-21T09:30:00.000001Z',
  '2026-11-21T09:30:00Z_00000000-0000-4000-8000-000000000001',
  '2026-11-21T09:30:00.000001Z_00000000-0000-4000-8000-00000000000',
  "2026-11-21T09:30:00.000001Z_00000000-0000-4000-8000-00000000000'",
  '%00',
])('the cursor %s is a 422', async (cursor) => {
  for (const query of [cursor, `${cursor}&cursor=${cursor}`, encodeCursor(cursor)]) {
    const answer = await get(`?cursor=${query}`)
    expect(answer.statusCode).toBe(422)
    expect(answer.json().errors).toHaveProperty('cursor')
  }
  expect(asked).toEqual([])
})

test('it needs the scope manage', async () => {
  expect((await get('', 'leads')).statusCode).toBe(403)
  expect((await get('?cursor=x', 'nobody')).statusCode).toBe(401)
})

test('a user is named by the present name, and the names in earlier entries about users are hidden', async () => {
  const changes = JSON.stringify({
    email: { from: null, to: 'sam@example.test' },
    role: { from: null, to: 'sales' },
  })
  logs[0] = [{ ...entry(2, 2), targetType: 'user', tokenId: 8, userId: 5, changes }]
  logs[1] = []
  expect((await get()).json()).toMatchObject({
    data: [
      {
        actor: { type: 'user', id: 5, name: 'Grace Hopper' },
        token: null,
        changes: { email: { from: null, to: null }, role: { from: null, to: 'sales' } },
      },
    ],
  })
})
