import { connectDatabase, createLifecycle, createLogger, type Database } from '@leadwire/service-kit'
import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'
import { createSyncDeliveries } from './sync-deliveries'

const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
let doors: Awaited<ReturnType<typeof openDoors>>
/** The loop of this service updates nothing, so that tests can run single batches. */
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
let database: Database

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { sync: async () => false })
  receiver = await startReceiver()
  database = connectDatabase({ url: doors.database.url, poolSize: 4, lifecycle })
})
afterAll(async () => {
  await service.stop()
  await lifecycle.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(async () => {
  receiver.clear()
  receiver.answerWith({ status: 200 })
  await doors.rows('DELETE FROM endpoint_syncs')
})

// Attempts of these tests are scheduled at most 30 minutes ahead, because `resetFutureAttempts` makes attempts
// due at once if they are scheduled more than an hour ahead.

/** Creates a disabled endpoint with deliveries. */
const holding = async (accountId: number, count: number) => {
  const { id: endpointId } = await service.endpoint(accountId, receiver.url, { enabled: false })
  const events = Array.from({ length: count }, () => doors.event(accountId))
  for (const event of events) {
    await doors.publish(event)
    await eventually(async () =>
      expect(await doors.rows('SELECT FROM deliveries WHERE event_id = $1', [event.eventId])).toHaveLength(1),
    )
  }
  return { endpoint: { accountId, endpointId }, ids: events.map(({ eventId }) => eventId) }
}
const shown = async (accountId: number) => {
  const { deliveries } = await service.client.listDeliveries({ accountId, page: 1 })
  return deliveries.map(({ status }) => status)
}
const readRows = async (accountId: number) => {
  const text = 'SELECT status, count(*)::int FROM deliveries WHERE account_id = $1 GROUP BY 1'
  const rows = await doors.rows<{ status: string; count: number }>(text, [accountId])
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}
const totals = async (accountId: number) => {
  const found: Record<string, number> = {}
  for (const status of ['pending', 'held', 'cancelled', 'delivered'])
    found[status] = (await service.client.listDeliveries({ accountId, status, page: 1 })).total
  return found
}
const received = (accountId: number) =>
  receiver.requests
    .filter(({ headers }) => headers['x-service-account-key'] === `key-of-${accountId}`)
    .map(({ headers }) => headers['webhook-id'])
const sync = (batch: number) => createSyncDeliveries(database, batch)()
const syncAll = async (batch: number) => {
  const syncNext = createSyncDeliveries(database, batch)
  while ((await doors.rows('SELECT FROM endpoint_syncs')).length > 0) await syncNext()
}
const set = (endpoint: { accountId: number; endpointId: number }, enabled: boolean) =>
  service.client.updateWebhookEndpoint({ ...endpoint, enabled })
const none = { pending: 0, held: 0, cancelled: 0, delivered: 0 }

test('after enabling, deliveries show as pending at once, and are sent when they are updated, the longest due first', async () => {
  const { endpoint, ids } = await holding(1, 5)
  await set(endpoint, true)
  expect(await shown(1)).toEqual(Array(5).fill('pending'))
  expect(await totals(1)).toEqual({ ...none, pending: 5 })
  await doors.polls()
  expect(received(1)).toEqual([])
  expect(await sync(2)).toBe('pause')
  await eventually(() => expect(received(1).toSorted()).toEqual(ids.slice(0, 2).toSorted()))
  await syncAll(2)
  await eventually(() => expect(received(1).toSorted()).toEqual(ids.toSorted()))
})

test('after disabling, deliveries show as held at once, and none is sent before or after they are updated', async () => {
  const { endpoint } = await holding(2, 5)
  await doors.rows(
    "UPDATE deliveries SET next_attempt_at = now() + interval '30 minutes' WHERE account_id = 2",
  )
  await set(endpoint, true)
  await syncAll(10)
  await set(endpoint, false)
  await doors.rows("UPDATE deliveries SET next_attempt_at = '2020-01-01' WHERE account_id = 2")
  expect(await shown(2)).toEqual(Array(5).fill('held'))
  expect(await totals(2)).toEqual({ ...none, held: 5 })
  expect(await service.metric('leadwire_webhook_oldest_due_seconds')).toBe(0)
  await doors.polls()
  await sync(2)
  expect(await readRows(2)).toEqual({ held: 2, pending: 3 })
  expect(await totals(2)).toEqual({ ...none, held: 5 })
  await syncAll(2)
  expect(await readRows(2)).toEqual({ held: 5 })
  await doors.polls()
  expect(received(2)).toEqual([])
})

test('disabling an endpoint cancels its manual attempts, and enabling it does not restore them', async () => {
  const { endpoint } = await holding(90, 2)
  const [held, delivered] = await doors.rows<{ id: string }>(
    'SELECT id FROM deliveries WHERE account_id = 90',
  )
  await set(endpoint, true)
  const later = new Date(Date.now() + 30 * 60_000).toISOString().replace('Z', '000Z')
  await doors.rows(
    `UPDATE deliveries SET next_attempt_at = CASE WHEN id = $1 THEN $2::timestamptz ELSE now() END,
       status = 'pending', manual_at = CASE WHEN id = $1 THEN now() + interval '30 minutes' END WHERE account_id = 90`,
    [held!.id, later],
  )
  await eventually(() => expect(received(90)).toHaveLength(1))
  await eventually(async () => expect(await readRows(90)).toEqual({ pending: 1, delivered: 1 }))
  await doors.rows("UPDATE deliveries SET manual_at = now() + interval '30 minutes' WHERE id = $1", [
    delivered!.id,
  ])
  expect(await totals(90)).toEqual({ ...none, pending: 2 })

  await set(endpoint, false)
  expect(await totals(90)).toEqual({ ...none, held: 1, delivered: 1 })
  const { deliveries } = await service.client.listDeliveries({ accountId: 90, page: 1 })
  expect(deliveries.map(({ status, nextAttemptAt }) => [status, nextAttemptAt]).toSorted()).toEqual([
    ['delivered', undefined],
    ['held', later],
  ])
  await syncAll(1)
  expect(await doors.rows('SELECT FROM deliveries WHERE manual_at IS NOT NULL')).toEqual([])
  await set(endpoint, true)
  expect(await totals(90)).toEqual({ ...none, pending: 1, delivered: 1 })
})

test('after deleting, deliveries show as cancelled at once, without a next attempt', async () => {
  const { endpoint } = await holding(3, 5)
  await set(endpoint, true)
  await sync(2)
  await service.client.deleteWebhookEndpoint(endpoint)
  const { deliveries } = await service.client.listDeliveries({ accountId: 3, page: 1 })
  const open = deliveries.filter(({ status }) => status !== 'delivered')
  expect(open.length).toBeGreaterThanOrEqual(3)
  for (const delivery of open)
    expect(delivery).toMatchObject({ status: 'cancelled', nextAttemptAt: undefined })
  await syncAll(2)
  await doors.polls()
  // An attempt that was in flight at the deletion is still recorded.
  await eventually(async () => {
    const { cancelled = 0, delivered = 0 } = await readRows(3)
    expect([cancelled >= 3, cancelled + delivered]).toEqual([true, 5])
    expect(received(3)).toHaveLength(delivered)
  })
})

test.each([
  [4, [true, false, true], 'pending'],
  [5, [true, false], 'held'],
  [6, [true, false, true, false, undefined], 'cancelled'],
] as const)('after changes in the middle of an update, deliveries match the last change', async (accountId, changes, last) => {
  const { endpoint } = await holding(accountId, 5)
  await doors.rows(
    "UPDATE deliveries SET next_attempt_at = now() + interval '50 minutes' WHERE account_id = $1",
    [accountId],
  )
  for (const enabled of changes) {
    if (enabled === undefined) await service.client.deleteWebhookEndpoint(endpoint)
    else await set(endpoint, enabled)
    await sync(2)
  }
  expect(await totals(accountId)).toEqual({ ...none, [last]: 5 })
  await syncAll(2)
  expect(await readRows(accountId)).toEqual({ [last]: 5 })
})

test('after a process dies, two others finish its work once', async () => {
  const { endpoint } = await holding(7, 20)
  await set(endpoint, true)
  const died = database.transaction(async (tx) => {
    await createSyncDeliveries({ ...database, transaction: (work) => work(tx) }, 5)()
    throw new Error('died')
  })
  await expect(died).rejects.toThrow('died')
  expect(await readRows(7)).toEqual({ held: 20 })
  while ((await doors.rows('SELECT FROM endpoint_syncs')).length > 0)
    await Promise.all([sync(3), sync(3), sync(3)])
  await eventually(async () => expect(await readRows(7)).toEqual({ delivered: 20 }))
  expect(received(7)).toHaveLength(20)
})

test('endpoints are updated in turn, so that none waits for all deliveries of another', async () => {
  const [large, small] = [await holding(8, 9), await holding(9, 1)]
  await set(large.endpoint, true)
  await set(small.endpoint, true)
  expect(await sync(2)).toBe('pause')
  expect(await sync(2)).toBe(true)
  expect((await readRows(9))['held']).toBeUndefined()
  expect((await readRows(8))['held']).toBe(7)
})

test('events before and after a change are stored with the current state of the endpoint', async () => {
  const { id } = await service.endpoint(10, receiver.url, { enabled: false })
  const endpoint = { accountId: 10, endpointId: id }
  const publish = async (count: number) => {
    await doors.publish(doors.event(10))
    await eventually(async () => expect(await shown(10)).toHaveLength(count))
  }
  await publish(1)
  await set(endpoint, true)
  await publish(2)
  await set(endpoint, false)
  await publish(3)
  await syncAll(1)
  // An attempt that began while the endpoint was enabled may still be recorded.
  await eventually(async () =>
    expect((await shown(10)).filter((status) => status === 'held').length).toBe((await readRows(10))['held']),
  )
})

test('the metric of open deliveries uses the state of the endpoints', async () => {
  const metric = async (status: string) => {
    const text = await service.metrics()
    return Number(
      new RegExp(`^leadwire_webhook_deliveries_open{[^}]*status="${status}"[^}]*} (.+)$`, 'm').exec(
        text,
      )?.[1],
    )
  }
  await doors.rows(
    "UPDATE deliveries SET status = 'cancelled', next_attempt_at = NULL WHERE next_attempt_at IS NOT NULL",
  )
  const [before, moving, after] = [await holding(11, 2), await holding(12, 3), await holding(13, 4)]
  expect([await metric('pending'), await metric('held')]).toEqual([0, 9])
  await doors.rows(
    "UPDATE deliveries SET next_attempt_at = now() + interval '30 minutes' WHERE account_id = 12",
  )
  await set(moving.endpoint, true)
  expect([await metric('pending'), await metric('held')]).toEqual([3, 6])
  await syncAll(1)
  expect([await metric('pending'), await metric('held')]).toEqual([3, 6])
  await set(moving.endpoint, false)
  await service.client.deleteWebhookEndpoint(before.endpoint)
  await service.client.deleteWebhookEndpoint(after.endpoint)
  expect([await metric('pending'), await metric('held')]).toEqual([0, 3])
})

test('deliveries are held at once when the account is suspended, and sent when it is resumed', async () => {
  const { endpoint } = await holding(14, 3)
  await doors.rows(
    "UPDATE deliveries SET next_attempt_at = now() + interval '30 minutes' WHERE account_id = 14",
  )
  await set(endpoint, true)
  await syncAll(10)
  await service.client.holdAccount({ accountId: 14, held: true })
  expect(await totals(14)).toEqual({ ...none, held: 3 })
  await sync(2)
  await service.client.holdAccount({ accountId: 14, held: false })
  expect(await totals(14)).toEqual({ ...none, pending: 3 })
  await syncAll(2)
  expect(await readRows(14)).toEqual({ pending: 3 })
})
