import { manualClock } from '@leadwire/test-kit'
import { dependenciesOf, openTables } from '../../large-endpoints.fixture'
import { retrieveWebhookEndpoint } from '../retrieve-webhook-endpoint'
import { updateWebhookEndpoint } from '../update-webhook-endpoint'
import { recoverWebhookEndpoint } from './recover-webhook-endpoint'
import { runRecovery } from './recovery'

const NOW = '2026-06-01T00:00:00.000Z'
const clock = manualClock(NOW)
let tables: Awaited<ReturnType<typeof openTables>>
beforeAll(async () => {
  tables = await openTables()
})
afterAll(() => tables.close())

const rows = <Row extends object>(text: string, values: unknown[]) =>
  tables.database.query<Row>({ text, values })
const recover = (accountId: number, endpointId: number, since = '2020-01-01T00:00:00Z', state?: string) =>
  recoverWebhookEndpoint(dependenciesOf(tables.database), { accountId, endpointId, since, state })
const left = async (accountId: number, endpointId: number) =>
  (await retrieveWebhookEndpoint(dependenciesOf(tables.database), { accountId, endpointId })).recovery
/** Runs rounds until nothing is left to do now. */
const goOn = async () => {
  await rows('UPDATE recoveries SET next_at = clock_timestamp()', [])
  while (await runRecovery(tables.database, { clock }));
}
const marked = (endpointId: number) =>
  rows<{ id: number; at: string }>(
    'SELECT id, manual_at AS at FROM deliveries WHERE endpoint_id = $1 AND manual_at IS NOT NULL ORDER BY id',
    [endpointId],
  )
/** As if each manual attempt had failed. */
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

test('deliveries are marked a hundred at a time, the oldest first, 100 ms apart, each once', async () => {
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

test('what is marked next stands behind what is marked, so that the pace stays', async () => {
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

test('only those made since then are asked for', async () => {
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

test('one that was asked for earlier, and failed meanwhile, is not asked for again by a later call', async () => {
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

test('a recovery ends with the disabling of its endpoint, and does not start again with it', async () => {
  const id = await tables.endpoint(5)
  await tables.fill(5, id, 'exhausted', 150)
  await recover(5, id)
  await goOn()
  for (const enabled of [false, true])
    await updateWebhookEndpoint(dependenciesOf(tables.database), { accountId: 5, endpointId: id, enabled })
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
  const statusesOf = async (endpointId: number) => {
    const found = await rows<{ status: string }>(
      `SELECT DISTINCT status FROM deliveries WHERE endpoint_id = $1 AND attempt_count = 7 ORDER BY status`,
      [endpointId],
    )
    return found.map(({ status }) => status)
  }
  /** An endpoint with three deliveries of each status; those that are pending or held wait for a retry. */
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
    // The held ones were so before their endpoint was enabled, and wait to be moved to pending.
    [12, 'undelivered', ['exhausted', 'held', 'pending']],
    [13, 'all', ['delivered', 'exhausted', 'held', 'pending']],
  ])('(account %d) %s: one attempt of each that is %j, and none twice', async (account, state, statuses) => {
    const id = await filled(account)
    const recovered = statuses.length * 3
    expect(await recover(account, id, undefined, state)).toEqual({ recovered, recoveredCapped: false })
    expect(await recover(account, id, undefined, state)).toEqual({ recovered: 0, recoveredCapped: false })
    expect(await left(account, id)).toMatchObject({ remaining: recovered, remainingCapped: false })
    for (let round = 0; round <= 2 * statuses.length; round += 1) {
      await goOn()
      await fail(id)
    }
    expect(await statusesOf(id)).toEqual(statuses)
    expect(await left(account, id)).toBeUndefined()
  })

  test('what is due is left to its schedule, and what was erased is not sent', async () => {
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

  test('another one is refused', async () => {
    const id = await tables.endpoint(102)
    await expect(recover(102, id, undefined, 'held')).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: { state: [expect.any(String)] },
    })
  })
})
