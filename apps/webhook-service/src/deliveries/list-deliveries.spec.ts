import { randomUUID } from 'node:crypto'
import type { ListDeliveriesRequest } from '@leadwire/contracts'
import { openDoors, sealedFor, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors)
})
afterAll(async () => {
  await service.stop()
  await doors.close()
})

/** Inserts `count` endpoints. Resolves with their ids. */
const endpoints = async (accountId: number, count: number) => {
  const rows = await doors.rows<{ id: number }>(
    `INSERT INTO endpoints (account_id, url, enabled, sealed_secrets)
     SELECT $1, 'http://127.0.0.1:1/', true, $2 FROM generate_series(1, $3) RETURNING id`,
    [accountId, sealedFor(accountId), count],
  )
  return rows.map(({ id }) => Number(id))
}

interface Stored {
  accountId: number
  endpointId: number
  reference?: string
  type?: string
  status?: string
  at?: string
  /** The errors of the attempts in their order. Null stands for a success. */
  errors?: (string | null)[]
  count?: number
}

/** Stores `count` equal deliveries. Resolves with the id of the last one. */
const store = async ({ accountId, endpointId, ...given }: Stored): Promise<number> => {
  const { reference = randomUUID(), type = 'lead.created', status = 'exhausted', count = 1 } = given
  const { at = '2026-03-01T00:00:00Z', errors = ['timeout'] } = given
  const [row] = await doors.rows<{ last: string }>(
    `WITH made AS MATERIALIZED (SELECT gen_random_uuid() AS event_id FROM generate_series(1, $8::int)), event AS (
      INSERT INTO events (id, account_id, account_key, lead_reference, body, type)
      SELECT event_id, $1, 'key', $3::uuid, '', $4 FROM made
    ), delivery AS (
      INSERT INTO deliveries (account_id, event_id, endpoint_id, lead_reference, status, attempt_count, created_at)
      SELECT $1, event_id, $2, $3::uuid, $5, cardinality($7::text[]), $6::timestamptz FROM made RETURNING id
    ), attempt AS (
      INSERT INTO attempts (delivery_id, number, started_at, duration_ms, status, error)
      SELECT id, number, now(), 1, CASE WHEN error IS NULL THEN 200 END, error
      FROM delivery CROSS JOIN unnest($7::text[]) WITH ORDINALITY AS a (error, number)
    )
    SELECT max(id) AS last FROM delivery`,
    [accountId, endpointId, reference, type, status, at, errors, count],
  )
  return Number(row!.last)
}

const list = (request: Partial<ListDeliveriesRequest> & { accountId: number }) =>
  service.client.listDeliveries({ page: 1, ...request })

const listIds = async (request: Parameters<typeof list>[0]) =>
  (await list(request)).deliveries.map(({ id }) => id)

test('each filter finds its deliveries, alone and combined with others', async () => {
  const [first = 0, second = 0] = await endpoints(1, 2)
  const of = { accountId: 1, endpointId: first }
  const reference = 'ab12cd34-0000-4000-8000-000000000001'
  const delivered = await store({ ...of, reference, status: 'delivered', errors: ['tls', null] })
  const timeout = await store({
    ...of,
    reference: reference.replace('34', '35'),
    at: '2026-03-01T00:00:00.5Z',
  })
  const failedSince = { status: 'delivered', errors: [null, 'reset'], at: '2026-03-02T00:00:00Z' }
  const resent = await store({ ...of, ...failedSince, endpointId: second, type: 'lead.updated' })
  const cancelled = await store({ ...of, status: 'cancelled', errors: [], at: '2026-03-03T00:00:00Z' })
  const stranger = { accountId: 2, endpointId: (await endpoints(2, 1))[0]! }
  await store({ ...stranger, reference })
  for (const [filter, ids] of [
    [{ leadReference: 'ab12' }, [timeout, delivered]],
    [{ leadReference: 'AB12CD34' }, [delivered]],
    [{ leadReference: 'ab12cd34-0000-4000-8' }, [delivered]],
    [{ leadReference: 'ab13' }, []],
    [{ type: 'lead.updated' }, [resent]],
    [{ error: 'timeout' }, [timeout]],
    [{ error: 'tls' }, []],
    [{ failed: true }, [resent, timeout]],
    [{ failed: false }, [cancelled, delivered]],
    [{ failed: true, status: 'delivered' }, [resent]],
    [{ failed: true, endpointId: first }, [timeout]],
    [{ failed: true, leadReference: 'ab12' }, [timeout]],
    [{ from: '2026-03-01T00:00:00.5Z' }, [cancelled, resent, timeout]],
    [{ to: '2026-03-01T00:00:00.5Z' }, [delivered]],
    [{ from: '2026-03-02T00:00:00Z', to: '2026-03-03T00:00:00Z' }, [resent]],
    [{ from: '2026-03-01T00:00:00.1Z', endpointId: first, leadReference: 'ab12' }, [timeout]],
    [{ from: '2030-01-01T00:00:00Z' }, []],
  ] satisfies [object, number[]][]) {
    expect([filter, await listIds({ accountId: 1, ...filter })]).toEqual([filter, ids])
    const cursor = Number.MAX_SAFE_INTEGER
    expect([filter, await listIds({ accountId: 1, ...filter, cursor })]).toEqual([filter, ids])
  }
  const { deliveries } = await list({ accountId: 1 })
  expect(deliveries.map(({ lastStatus, lastError }) => [lastStatus, lastError])).toEqual([
    [undefined, undefined],
    [undefined, 'reset'],
    [undefined, 'timeout'],
    [200, undefined],
  ])
})

describe('a rare delivery below many others', () => {
  const accountId = 3
  const many = { count: 10_500, errors: ['refused'] }
  let endpointId: number
  let other: number
  let rare: number

  beforeAll(async () => {
    ;[endpointId, other] = (await endpoints(accountId, 2)) as [number, number]
    rare = await store({
      accountId,
      endpointId,
      errors: ['tls'],
      reference: 'ffff0000-0000-4000-8000-000000000000',
    })
    await store({ accountId, endpointId, ...many, reference: 'ffff0000-0000-4000-8000-000000000001' })
    await store({ accountId, endpointId: other, ...many, status: 'delivered', errors: [null] })
  })

  test.each([
    [{ error: 'tls' }],
    [{ error: 'tls', status: 'exhausted' }],
    [{ leadReference: 'ffff', error: 'tls' }],
    [{ failed: true, type: 'lead.created', from: '2026-03-01T00:00:00Z', error: 'tls' }],
  ])('is not in the first response, and is found with cursors: %j', async (filter) => {
    expect(await list({ accountId, ...filter })).toMatchObject({
      deliveries: [],
      total: 0,
      totalCapped: true,
    })
    const found: number[] = []
    let responses = 0
    for (let cursor: number | undefined = Number.MAX_SAFE_INTEGER; cursor; responses += 1) {
      const step = await list({ accountId, ...filter, cursor })
      found.push(...step.deliveries.map(({ id }) => id))
      expect(step.nextCursor ?? 0).toBeLessThan(cursor)
      cursor = step.nextCursor
    }
    expect(found).toEqual([rare])
    expect(responses).toBeLessThan(6)
  })

  test('is found at once by a full reference, or by endpoint and time if few deliveries match', async () => {
    expect(await listIds({ accountId, leadReference: 'ffff0000-0000-4000-8000-000000000000' })).toEqual([
      rare,
    ])
    await doors.rows(`UPDATE deliveries SET created_at = '2026-02-01T00:00:00Z' WHERE id = $1`, [rare])
    const filter = { accountId, endpointId, error: 'tls', to: '2026-02-02T00:00:00Z' }
    expect(await list(filter)).toMatchObject({ deliveries: [{ id: rare }], total: 1, totalCapped: false })
  })

  test('a list with cursors returns every match once', async () => {
    const seen: number[] = []
    for (let cursor: number | undefined = Number.MAX_SAFE_INTEGER; cursor; ) {
      const step = await list({ accountId, failed: true, cursor })
      seen.push(...step.deliveries.map(({ id }) => id))
      cursor = step.nextCursor
    }
    expect(new Set(seen).size).toBe(10_501)
    expect(seen).toEqual([...seen].sort((a, b) => b - a))
    expect(seen).toHaveLength(10_501)
  })
})
