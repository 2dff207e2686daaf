import { setTimeout as pause } from 'node:timers/promises'
import { eventually, gate, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { WEBHOOK_RETRY_SCHEDULE: [50], WEBHOOK_TIMEOUT: 600_000 })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const total = async (accountId: number, status: string) =>
  (await service.client.listDeliveries({ accountId, status, page: 1 })).total
const exhaust = async (accountId: number, count: number) => {
  receiver.answerWith({ status: 500 })
  const before = await total(accountId, 'exhausted')
  await doors.publish(...Array.from({ length: count }, () => doors.event(accountId)))
  await eventually(async () => expect(await total(accountId, 'exhausted')).toBe(before + count))
  receiver.clear()
}
const recover = async (accountId: number, endpointId: number, since: string) =>
  (await service.client.recoverWebhookEndpoint({ accountId, endpointId, since })).recovered

const received = (accountId: number) =>
  receiver.requests.filter(({ headers }) => headers['x-service-account-key'] === `key-of-${accountId}`)

const LONG_AGO = '2020-01-01T00:00:00Z'

test('every exhausted delivery gets one more attempt at ten a second, and new deliveries do not wait', async () => {
  const { id } = await service.endpoint(1, receiver.url)
  await exhaust(1, 5)
  await pause(20)
  const since = new Date().toISOString()
  await pause(20)
  await exhaust(1, 25)
  receiver.answerWith({ status: 200 })
  const recoveredAt = Date.now()
  expect(await recover(1, id, since)).toBe(25)
  expect(await recover(1, id, since)).toBe(0)
  const fresh = doors.event(1)
  await doors.publish(fresh)
  await eventually(async () => expect(await total(1, 'delivered')).toBe(26))
  expect(receiver.requests).toHaveLength(26)
  // Hardly any recovered delivery arrived between the storing and the arrival of the new one.
  const [row] = await doors.rows<{ stored: Date }>(
    'SELECT created_at AS stored FROM deliveries WHERE event_id = $1',
    [fresh.eventId],
  )
  const { arrivedAt } = receiver.requests.find(({ headers }) => headers['webhook-id'] === fresh.eventId)!
  const isBetween = (at: Date) => at > row!.stored && at < arrivedAt
  expect(receiver.requests.filter((each) => isBetween(each.arrivedAt)).length).toBeLessThan(5)
  expect(receiver.requests.at(-1)!.arrivedAt.getTime() - recoveredAt).toBeGreaterThan(2000)
  expect(await total(1, 'exhausted')).toBe(5)
})

test('at a hanging endpoint, recovered and new deliveries do not wait for all of each other', async () => {
  const { id } = await service.endpoint(2, receiver.url)
  await exhaust(2, 60)
  const stored = gate()
  receiver.answerWith({ status: 500, after: stored.opened })
  await recover(2, id, LONG_AGO)
  const marked = 'SELECT FROM deliveries WHERE account_id = 2 AND manual_at IS NOT NULL'
  await eventually(async () => expect(await doors.rows(marked)).toHaveLength(60))
  await doors.rows('UPDATE deliveries SET manual_at = now() WHERE account_id = 2 AND manual_at IS NOT NULL')
  const events = Array.from({ length: 60 }, () => doors.event(2))
  await doors.publish(...events)
  const fresh = new Set(events.map(({ eventId }) => eventId))
  // Recovered and new deliveries wait while the endpoint has its maximum number of attempts in flight.
  await eventually(async () => expect(await total(2, 'pending')).toBe(120))
  await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(16))
  stored.open()
  await eventually(() => expect(receiver.requests.length).toBeGreaterThanOrEqual(76))
  const share = receiver.requests
    .slice(16, 76)
    .filter(({ headers }) => fresh.has(String(headers['webhook-id']))).length
  expect(share).toBeGreaterThan(15)
  expect(share).toBeLessThan(55)
})

test('invalid requests are refused, and a deleted endpoint receives nothing more', async () => {
  const { id: endpointId } = await service.endpoint(3, receiver.url)
  await exhaust(3, 12)
  await expect(recover(4, endpointId, LONG_AGO)).rejects.toMatchObject({ code: 'not_found' })
  await expect(recover(3, endpointId, 'yesterday at noon')).rejects.toMatchObject({
    code: 'bad_request',
  })
  await service.client.updateWebhookEndpoint({ accountId: 3, endpointId, enabled: false })
  await expect(recover(3, endpointId, LONG_AGO)).rejects.toMatchObject({ code: 'conflict' })
  await service.client.updateWebhookEndpoint({ accountId: 3, endpointId, enabled: true })
  expect(await recover(3, endpointId, LONG_AGO)).toBe(12)
  await service.client.deleteWebhookEndpoint({ accountId: 3, endpointId })
  // Waits for the attempts in flight. One more may follow, if it was being claimed during the deletion.
  const claimed = 'SELECT FROM deliveries WHERE account_id = 3 AND claim IS NOT NULL'
  await eventually(async () => expect(await doors.rows(claimed)).toEqual([]))
  const sent = received(3).length
  await doors.polls()
  expect(received(3).length - sent).toBeLessThanOrEqual(1)
  expect(await total(3, 'exhausted')).toBe(12)
})

test('a recovery attempts deliveries that wait for a retry at once, also after the endpoint was enabled', async () => {
  await service.stop()
  service = await startService(doors, { WEBHOOK_RETRY_SCHEDULE: [3_600_000] })
  const { id: endpointId } = await service.endpoint(5, receiver.url)
  receiver.answerWith({ status: 500 })
  const events = Array.from({ length: 3 }, () => doors.event(5))
  await doors.publish(...events)
  const attempted = 'SELECT FROM deliveries WHERE account_id = 5 AND attempt_count = 1'
  await eventually(async () => expect(await doors.rows(attempted)).toHaveLength(3))
  for (const enabled of [false, true])
    await service.client.updateWebhookEndpoint({ accountId: 5, endpointId, enabled })
  receiver.clear()
  receiver.answerWith({ status: 200 })
  expect(await recover(5, endpointId, LONG_AGO)).toBe(0)
  const request = { accountId: 5, endpointId, since: LONG_AGO, state: 'undelivered' }
  expect(await service.client.recoverWebhookEndpoint(request)).toMatchObject({ recovered: 3 })
  await eventually(async () => expect(await total(5, 'delivered')).toBe(3))
  const ids = received(5).map(({ headers }) => headers['webhook-id'])
  expect(ids.toSorted()).toEqual(events.map(({ eventId }) => eventId).toSorted())
})
