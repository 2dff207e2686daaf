import { eventually, manualClock } from '@leadwire/test-kit'
import { buildDependencies, openTables } from '../../large-endpoints.fixture'
import { updateWebhookEndpoint } from '../update-webhook-endpoint'
import { retrieveWebhookEndpoint } from '../webhook-endpoints'
import { recoverWebhookEndpoint } from './recover-webhook-endpoint'
import { replayWebhookEndpoint } from './replay-webhook-endpoint'
import { cancelReplay, createPruneReplays, retrieveReplay } from './replays'
import { runReplay } from './run-replay'

const NOW = '2026-06-01T00:00:00.000Z'
const clock = manualClock(NOW)
let tables: Awaited<ReturnType<typeof openTables>>
beforeAll(async () => {
  tables = await openTables()
})
afterAll(() => tables.close())

const run = () => runReplay(buildDependencies(tables.database, { clock }))
const rows = <Row extends object>(text: string, values: unknown[]) =>
  tables.database.query<Row>({ text, values })
const recover = (accountId: number, endpointId: number, since = '2020-01-01T00:00:00Z', state?: string) =>
  recoverWebhookEndpoint(buildDependencies(tables.database), { accountId, endpointId, since, state })
const left = async (accountId: number, endpointId: number) =>
  (await retrieveWebhookEndpoint(buildDependencies(tables.database), { accountId, endpointId })).recovery
/** Runs rounds until a round has nothing to do. */
const goOn = async () => {
  await rows('UPDATE replays SET next_at = clock_timestamp()', [])
  while (await run());
}
const marked = (endpointId: number) =>
  rows<{ id: number; at: string }>(
    'SELECT id, manual_at AS at FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL ORDER BY id',
    [endpointId],
  )
/** Makes each manual attempt fail. */
const fail = (endpointId: number) =>
  rows(
    `UPDATE deliveries SET manual_at = NULL, attempt_count = attempt_count + 1, updated_at = clock_timestamp()
     WHERE endpoint_id = $1 AND manual_at IS NOT NULL`,
    [endpointId],
  )
const attempts = async (endpointId: number) => {
  const counts = await rows<{ attempt_count: number }>(
    `SELECT attempt_count FROM deliveries WHERE endpoint_id = $1 AND status = 'exhausted' ORDER BY id`,
    [endpointId],
  )
  return counts.map(({ attempt_count }) => attempt_count)
}

test('a replay whose next round is in an hour continues now, because PostgreSQL’s clock has gone back', async () => {
  const id = await tables.endpoint(20)
  await tables.fill(20, id, 'exhausted', 1)
  await recover(20, id)
  await rows("UPDATE replays SET next_at = clock_timestamp() + interval '1 hour'", [])
  while (await run());
  expect(await marked(id)).toHaveLength(1)
  await fail(id)
  await goOn()
})

test('a recovery requests a hundred attempts at a time, the oldest first, 100 ms apart, each once', async () => {
  const id = await tables.endpoint(1)
  await tables.fill(1, id, 'exhausted', 250)
  expect(await recover(1, id)).toEqual({ recovered: 250, recoveredCapped: false })
  expect(await recover(1, id)).toEqual({ recovered: 0, recoveredCapped: false })
  await goOn()
  const first = await marked(id)
  expect(first.map(({ at }) => Date.parse(at) - Date.parse(NOW))).toEqual(
    Array.from({ length: 100 }, (_, place) => place * 100),
  )
  expect(await recover(1, id)).toEqual({ recovered: 0, recoveredCapped: false })
  await goOn()
  expect(await marked(id)).toEqual(first)
  expect(await left(1, id)).toMatchObject({ remaining: 250, remainingCapped: false })
  for (const remaining of [150, 50, 0]) {
    await fail(id)
    expect(await left(1, id)).toMatchObject({ remaining, remainingCapped: false })
    await goOn()
  }
  expect(await left(1, id)).toBeUndefined()
  expect(await attempts(id)).toEqual(Array(250).fill(2))
  expect(await recover(1, id)).toEqual({ recovered: 250, recoveredCapped: false })
})

test('the next attempts follow those already requested at the same rate', async () => {
  const id = await tables.endpoint(2)
  await tables.fill(2, id, 'exhausted', 120)
  await recover(2, id)
  await goOn()
  const [done] = await marked(id)
  await rows('UPDATE deliveries SET manual_at = NULL WHERE id = $1', [done!.id])
  await goOn()
  const times = (await marked(id)).map(({ at }) => Date.parse(at) - Date.parse(NOW))
  expect(times).toEqual(Array.from({ length: 100 }, (_, place) => (place + 1) * 100))
})

test('only deliveries that were created after `since` are recovered', async () => {
  const id = await tables.endpoint(3)
  await tables.fill(3, id, 'exhausted', 100)
  const [row] = await rows<{ at: string }>(
    'SELECT created_at AS at FROM deliveries WHERE endpoint_id = $1 ORDER BY id OFFSET 60 LIMIT 1',
    [id],
  )
  expect(await recover(3, id, row!.at)).toEqual({ recovered: 40, recoveredCapped: false })
  await goOn()
  expect(await marked(id)).toHaveLength(40)
})

test('a delivery that an earlier request recovers is not recovered again by a later request', async () => {
  const id = await tables.endpoint(4)
  await tables.fill(4, id, 'exhausted', 30)
  const [row] = await rows<{ at: string }>(
    'SELECT created_at AS at FROM deliveries WHERE endpoint_id = $1 ORDER BY id OFFSET 20 LIMIT 1',
    [id],
  )
  expect(await recover(4, id, row!.at)).toMatchObject({ recovered: 10 })
  expect(await recover(4, id)).toMatchObject({ recovered: 20 })
  for (let round = 0; round < 4; round += 1) {
    await goOn()
    await fail(id)
  }
  await goOn()
  expect(await attempts(id)).toEqual(Array(30).fill(2))
  expect(await left(4, id)).toBeUndefined()
})

test('disabling an endpoint ends its recovery, and enabling the endpoint does not restart it', async () => {
  const id = await tables.endpoint(5)
  await tables.fill(5, id, 'exhausted', 150)
  await recover(5, id)
  await goOn()
  for (const enabled of [false, true])
    await updateWebhookEndpoint(buildDependencies(tables.database), { accountId: 5, endpointId: id, enabled })
  expect(await left(5, id)).toBeUndefined()
  await fail(id)
  await goOn()
  expect(await marked(id)).toEqual([])
})

test('counts stop at 10,000', async () => {
  const id = await tables.endpoint(6)
  await tables.fill(6, id, 'exhausted', 10_001)
  expect(await recover(6, id)).toEqual({ recovered: 10_000, recoveredCapped: true })
  expect(await left(6, id)).toMatchObject({ remaining: 10_000, remainingCapped: true })
})

describe('with a state', () => {
  const STATUSES = ['cancelled', 'delivered', 'exhausted', 'held', 'pending']
  const readStatuses = async (endpointId: number) => {
    const found = await rows<{ status: string }>(
      `SELECT DISTINCT status FROM deliveries WHERE endpoint_id = $1 AND attempt_count = 7 ORDER BY status`,
      [endpointId],
    )
    return found.map(({ status }) => status)
  }
  /**
   * Creates an endpoint with three deliveries of each status. The pending and the held deliveries wait for a
   * retry.
   */
  const filled = async (accountId: number) => {
    const id = await tables.endpoint(accountId)
    for (const status of STATUSES) await tables.fill(accountId, id, status, 3)
    await rows(
      `UPDATE deliveries SET attempt_count = 6, next_attempt_at = next_attempt_at + interval '9 years' WHERE endpoint_id = $1`,
      [id],
    )
    return id
  }

  test.each([
    [10, undefined, ['exhausted']],
    [11, 'exhausted', ['exhausted']],
    // The held deliveries are from before the endpoint was enabled, and are about to become pending.
    [12, 'undelivered', ['exhausted', 'held', 'pending']],
    [13, 'all', ['delivered', 'exhausted', 'held', 'pending']],
  ])('(account %d) %s: one attempt of each %j delivery', async (account, state, statuses) => {
    const id = await filled(account)
    const recovered = statuses.length * 3
    expect(await recover(account, id, undefined, state)).toEqual({ recovered, recoveredCapped: false })
    expect(await recover(account, id, undefined, state)).toEqual({ recovered: 0, recoveredCapped: false })
    expect(await left(account, id)).toMatchObject({ remaining: recovered, remainingCapped: false })
    for (let round = 0; round <= 2 * statuses.length; round += 1) {
      await goOn()
      await fail(id)
    }
    expect(await readStatuses(id)).toEqual(statuses)
    expect(await left(account, id)).toBeUndefined()
  })

  test('due deliveries keep their schedule, and erased deliveries are not sent', async () => {
    const id = await filled(100)
    await rows(
      `UPDATE deliveries SET next_attempt_at = now() - interval '1 second' WHERE id =
         (SELECT max(id) FROM deliveries WHERE endpoint_id = $1 AND status = 'pending')`,
      [id],
    )
    await rows(
      `UPDATE events SET erased_at = now() WHERE id =
         (SELECT event_id FROM deliveries WHERE endpoint_id = $1 AND status = 'delivered' LIMIT 1)`,
      [id],
    )
    expect(await recover(100, id, undefined, 'all')).toEqual({ recovered: 10, recoveredCapped: false })
    for (let round = 0; round <= 8; round += 1) {
      await goOn()
      await fail(id)
    }
    const again = 'SELECT id FROM deliveries WHERE endpoint_id = $1 AND attempt_count = 7'
    expect(await rows(again, [id])).toHaveLength(10)
  })

  test('counts of all states together stop at 10,000', async () => {
    const id = await tables.endpoint(101)
    for (const status of ['exhausted', 'delivered']) await tables.fill(101, id, status, 6000)
    expect(await recover(101, id, undefined, 'all')).toEqual({ recovered: 10_000, recoveredCapped: true })
    expect(await left(101, id)).toMatchObject({ remaining: 10_000, remainingCapped: true })
  })

  test('an unknown state is refused', async () => {
    const id = await tables.endpoint(102)
    await expect(recover(102, id, undefined, 'held')).rejects.toMatchObject({
      code: 'bad_request',
    })
  })
})

describe('a replay', () => {
  type Request = Parameters<typeof replayWebhookEndpoint>[1]
  const ask = async (accountId: number, endpointId: number, request: Partial<Request> = {}) => {
    const replayRequest = { accountId, endpointId, dryRun: false, ...request }
    return (await replayWebhookEndpoint(buildDependencies(tables.database), replayRequest)).replay!
  }
  const shown = async (accountId: number, endpointId: number, replayId: number) => {
    const key = { accountId, endpointId, replayId }
    return (await retrieveReplay(buildDependencies(tables.database), key)).replay!
  }
  const count = async (accountId: number, endpointId: number, request: Partial<Request> = {}) => {
    const { id } = await ask(accountId, endpointId, { ...request, dryRun: true })
    await goOn()
    const replay = await shown(accountId, endpointId, id)
    expect(replay).toMatchObject({ state: 'counted', enqueued: 0 })
    return replay.matched
  }
  const deliveriesAt = (endpointId: number) =>
    rows<{ status: string; number: number; at: string; fan_out: number; found: number }>(
      `SELECT d.status, number, next_attempt_at AS at, fan_out,
         (SELECT count(*)::int FROM deliveries o WHERE o.event_id = e.id) AS found
       FROM deliveries d JOIN events e ON e.id = d.event_id WHERE endpoint_id = $1 ORDER BY number`,
      [endpointId],
    )

  test('creates deliveries for a new endpoint in the order of the log at a limited rate, and raises `fan_out`', async () => {
    const old = await tables.endpoint(200)
    await tables.fill(200, old, 'delivered', 250)
    const id = await tables.endpoint(200)
    const replay = await ask(200, id, { afterSequence: 10, untilSequence: 240 })
    expect(replay).toMatchObject({ state: 'running', enqueued: 0 })
    await goOn()
    expect(await shown(200, id, replay.id)).toMatchObject({ state: 'running', matched: 230, enqueued: 100 })
    const made = await deliveriesAt(id)
    expect(made.map(({ number }) => number)).toEqual(Array.from({ length: 100 }, (_, place) => place + 11))
    expect(made.map(({ at }) => Date.parse(at) - Date.parse(NOW))).toEqual(
      Array.from({ length: 100 }, (_, place) => place * 10),
    )
    expect(
      made.every(({ status, fan_out, found }) => status === 'pending' && fan_out === 2 && found === 2),
    ).toBe(true)
    // 100 attempts of the replay, which is the maximum, already wait. So this round requests no attempt.
    await goOn()
    expect(await deliveriesAt(id)).toHaveLength(100)
    for (let round = 0; round < 3; round += 1) {
      await rows(
        `UPDATE deliveries SET status = 'delivered', attempt_count = 1, next_attempt_at = NULL WHERE endpoint_id = $1`,
        [id],
      )
      await goOn()
    }
    expect(await shown(200, id, replay.id)).toMatchObject({ state: 'done', matched: 230, enqueued: 230 })
    expect((await deliveriesAt(id)).at(-1)!.number).toBe(240)
  })

  test('matches by range, types, state and subscription', async () => {
    const old = await tables.endpoint(201)
    for (const status of ['exhausted', 'delivered', 'cancelled']) await tables.fill(201, old, status, 10)
    const id = await tables.endpoint(201)
    const [row] = await rows<{ at: string }>(
      `UPDATE events SET created_at = '2026-01-31T00:00:00Z'::timestamptz + number * interval '1 minute'
       WHERE account_id = 201 RETURNING created_at AS at`,
      [],
    )
    expect(row).toBeDefined()
    await rows(
      `UPDATE events SET type = 'lead.updated', test = number < 10 WHERE account_id = 201 AND number <= 15`,
      [],
    )
    const at = (minute: number) =>
      new Date(Date.parse('2026-01-31T00:00:00Z') + minute * 60_000).toISOString()
    // Events 16 to 30 have the type to which both endpoints subscribe.
    expect(await count(201, id)).toBe(15)
    expect(await count(201, old)).toBe(0)
    expect(await count(201, old, { types: { types: ['lead.updated'] } })).toBe(10)
    expect(await count(201, old, { state: 'all' })).toBe(5)
    expect(await count(201, id, { state: 'exhausted' })).toBe(0)
    expect(await count(201, id, { types: { types: ['lead.updated', 'lead.created'] } })).toBe(30)
    expect(await count(201, id, { from: at(20), to: at(25) })).toBe(5)
    expect(await count(201, id, { from: at(20), untilSequence: 22 })).toBe(3)
    expect(await count(201, id, { afterSequence: 28 })).toBe(2)
    expect(await count(201, id, { afterSequence: 99 })).toBe(0)
    await rows('UPDATE events SET erased_at = now() WHERE account_id = 201 AND number = 30', [])
    expect(await count(201, id, { afterSequence: 28 })).toBe(1)
    await rows(`UPDATE endpoints SET leads = 'test' WHERE id = $1`, [id])
    expect(await count(201, id, { types: { types: ['lead.updated'] } })).toBe(9)
  })

  test('finds an event that an outage has delayed by its time', async () => {
    const old = await tables.endpoint(202)
    await tables.fill(202, old, 'delivered', 100)
    const id = await tables.endpoint(202)
    await rows(
      `UPDATE events SET created_at = created_at - interval '23 hours' WHERE account_id = 202 AND number BETWEEN 60 AND 90`,
      [],
    )
    const [row] = await rows<{ at: string }>(
      'SELECT created_at AS at FROM events WHERE account_id = 202 AND number = 75',
      [],
    )
    const from = new Date(row!.at).toISOString()
    expect(await count(202, id, { from, to: new Date(Date.parse(from) + 10_000).toISOString() })).toBe(10)
  })

  test('creates no delivery for an event that is older than the retention', async () => {
    const old = await tables.endpoint(203)
    await tables.fill(203, old, 'delivered', 10)
    await rows(`UPDATE events SET created_at = '2026-04-01' WHERE account_id = 203 AND number <= 4`, [])
    const id = await tables.endpoint(203)
    const { id: replayId } = await ask(203, id)
    while (await runReplay(buildDependencies(tables.database, { clock, keptMs: 30 * 24 * 3_600_000 })));
    expect(await shown(203, id, replayId)).toMatchObject({ matched: 6, enqueued: 6 })
  })

  test('runs one at a time per endpoint, does not wait for an old dry run, and stops when it is cancelled', async () => {
    const old = await tables.endpoint(204)
    await tables.fill(204, old, 'delivered', 150)
    const id = await tables.endpoint(204)
    const first = await ask(204, id)
    const refused = { code: 'conflict', message: expect.stringContaining(`Replay ${first.id}`) }
    await expect(ask(204, id)).rejects.toMatchObject(refused)
    await expect(ask(204, id, { dryRun: true })).rejects.toMatchObject({ code: 'conflict' })
    await goOn()
    const key = { accountId: 204, endpointId: id, replayId: first.id }
    const cancelled = { replay: { state: 'cancelled', matched: 150, enqueued: 100 } }
    for (let time = 0; time < 2; time += 1)
      expect(await cancelReplay(buildDependencies(tables.database), key)).toMatchObject(cancelled)
    for (const other of [{ accountId: 1 }, { endpointId: old }, { replayId: first.id + 99 }])
      await expect(
        cancelReplay(buildDependencies(tables.database), { ...key, ...other }),
      ).rejects.toMatchObject({
        code: 'not_found',
      })
    await rows(`UPDATE deliveries SET status = 'cancelled', next_attempt_at = NULL WHERE endpoint_id = $1`, [
      id,
    ])
    await goOn()
    expect(await deliveriesAt(id)).toHaveLength(100)
    expect((await ask(204, id)).id).toBeGreaterThan(first.id)
    for (const enabled of [false, true])
      await updateWebhookEndpoint(buildDependencies(tables.database), {
        accountId: 204,
        endpointId: id,
        enabled,
      })
    expect(await count(204, id)).toBe(50)
  })

  test('sends no event that an erasure has locked', async () => {
    const old = await tables.endpoint(205)
    await tables.fill(205, old, 'delivered', 3)
    const id = await tables.endpoint(205)
    await rows(`UPDATE replays SET next_at = 'infinity' WHERE state = 'running'`, [])
    const { id: replayId } = await ask(205, id)
    await run()
    let over: Promise<unknown> | undefined
    await tables.database.transaction(async (tx) => {
      await tx.query({ text: 'UPDATE events SET erased_at = now() WHERE account_id = 205 AND number = 2' })
      over = run()
      await eventually(async () =>
        expect(
          await rows(
            `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`,
            [],
          ),
        ).toHaveLength(1),
      )
    })
    await over
    expect((await deliveriesAt(id)).map(({ number }) => number)).toEqual([1, 3])
    await goOn()
    expect(await shown(205, id, replayId)).toMatchObject({ state: 'done', matched: 3, enqueued: 2 })
  })

  test('is deleted some time after its end', async () => {
    const prune = () => createPruneReplays(tables.database, 3_600_000).batch()
    await rows(`UPDATE replays SET ended_at = now() - interval '59 minutes' WHERE state <> 'running'`, [])
    expect(await prune()).toEqual({ rows: 0, more: false })
    const ended = await rows(
      `UPDATE replays SET ended_at = now() - interval '61 minutes' WHERE state <> 'running' RETURNING id`,
      [],
    )
    expect(await prune()).toEqual({ rows: ended.length, more: false })
  })
})
