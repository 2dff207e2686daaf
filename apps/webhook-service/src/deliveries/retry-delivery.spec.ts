import { eventually, gate, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

const SCHEDULE = [60_000, 300_000]

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
const clock = manualClock()

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { clock, WEBHOOK_RETRY_SCHEDULE: SCHEDULE })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const only = async (accountId: number) =>
  (await service.client.listDeliveries({ accountId, page: 1 })).deliveries[0]!
const eventuallyIs = (accountId: number, expected: object) =>
  eventually(async () => expect(await only(accountId)).toMatchObject(expected))
const retry = async (accountId: number) =>
  (await service.client.retryDelivery({ accountId, deliveryId: (await only(accountId)).id })).delivery
const iso = (ms: number) => new Date(ms).toISOString().replace('Z', '000Z')
const received = (accountId: number) =>
  receiver.requests.filter(({ headers }) => headers['x-service-account-key'] === `key-of-${accountId}`)

/** Makes a delivery that has failed `attempts` times on its schedule. */
const failing = async (accountId: number, attempts: number) => {
  receiver.answerWith({ status: 500 })
  const { id } = await service.endpoint(accountId, receiver.url)
  await doors.publish(doors.event(accountId))
  for (let made = 1; made <= attempts; made += 1) {
    await eventuallyIs(accountId, { attemptCount: made })
    if (made < attempts) clock.advance(SCHEDULE[made - 1]!)
  }
  return id
}

test('manual attempts do not change the schedule of a pending delivery', async () => {
  await failing(1, 1)
  const due = clock.now().getTime() + SCHEDULE[0]!
  for (let manual = 1; manual <= 3; manual += 1) {
    clock.advance(1000)
    expect(await retry(1)).toMatchObject({ status: 'pending', nextAttemptAt: iso(clock.now().getTime()) })
    await eventuallyIs(1, { status: 'pending', attemptCount: 1 + manual, nextAttemptAt: iso(due) })
  }
  clock.set(new Date(due - 1))
  await doors.polls()
  expect(received(1)).toHaveLength(4)
  clock.set(new Date(due))
  await eventuallyIs(1, { attemptCount: 5, nextAttemptAt: iso(due + SCHEDULE[1]!) })
  clock.advance(SCHEDULE[1]!)
  await eventuallyIs(1, { status: 'exhausted', attemptCount: 6 })
  const { attempts } = await service.client.retrieveDelivery({ accountId: 1, deliveryId: (await only(1)).id })
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6])
  expect(new Set(received(1).map(({ headers }) => headers['webhook-id'])).size).toBe(1)
})

test('an exhausted delivery gets one attempt and is then delivered, or stays exhausted', async () => {
  await failing(2, 3)
  await eventuallyIs(2, { status: 'exhausted' })
  expect(await retry(2)).toMatchObject({ status: 'pending', attemptCount: 3 })
  await eventuallyIs(2, { status: 'exhausted', attemptCount: 4, nextAttemptAt: undefined })
  clock.advance(365 * 86_400_000)
  await doors.polls()
  expect(received(2)).toHaveLength(4)
  receiver.answerWith({ status: 200 })
  await retry(2)
  await eventuallyIs(2, { status: 'delivered', attemptCount: 5 })
})

test('a delivered delivery can be sent again, and stays delivered if this fails', async () => {
  receiver.answerWith({ status: 200 })
  await service.endpoint(3, receiver.url)
  await doors.publish(doors.event(3))
  await eventuallyIs(3, { status: 'delivered' })
  receiver.answerWith({ status: 500 })
  await retry(3)
  await eventuallyIs(3, { status: 'delivered', attemptCount: 2 })
  expect(received(3)).toHaveLength(2)
})

test('a retry is refused with a reason, and another account does not find the delivery', async () => {
  const endpointId = await failing(4, 1)
  await expect(
    service.client.retryDelivery({ accountId: 1, deliveryId: (await only(4)).id }),
  ).rejects.toMatchObject({ code: 'not_found' })
  const released = gate()
  receiver.answerWith({ status: 500, after: released.opened })
  await retry(4)
  await eventually(() => expect(received(4)).toHaveLength(2))
  expect(await service.client.listDeliveries({ accountId: 4, status: 'pending', page: 1 })).toMatchObject({
    total: 1,
  })
  await expect(retry(4)).rejects.toMatchObject({
    code: 'conflict',
    detail: 'An attempt is in flight. Wait until it has ended.',
  })
  released.open()
  await eventuallyIs(4, { attemptCount: 2 })
  await service.client.updateWebhookEndpoint({ accountId: 4, endpointId, enabled: false })
  await expect(retry(4)).rejects.toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('disabled'),
  })
  await service.client.deleteWebhookEndpoint({ accountId: 4, endpointId })
  await expect(retry(4)).rejects.toMatchObject({
    code: 'conflict',
    detail: expect.stringContaining('deleted'),
  })
})

test('deliveries with a scheduled manual attempt are listed as pending', async () => {
  await failing(5, 3)
  await eventuallyIs(5, { status: 'exhausted' })
  const total = async (status: string) =>
    (await service.client.listDeliveries({ accountId: 5, status, page: 1 })).total
  const mayRespond = gate()
  receiver.answerWith({ status: 500, after: mayRespond.opened })
  await retry(5)
  expect([await total('pending'), await total('exhausted')]).toEqual([1, 0])
  mayRespond.open()
  await eventuallyIs(5, { status: 'exhausted', attemptCount: 4 })
  expect([await total('pending'), await total('exhausted')]).toEqual([0, 1])
})
