import { eventually, manualClock, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

const PAUSES = [60_000, 300_000, 900_000, 1_800_000, 3_600_000]

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver
const clock = manualClock()

beforeAll(async () => {
  doors = await openDoors()
  service = await startService(doors, { clock })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const onlyDelivery = async (accountId: number) => {
  const { deliveries } = await service.client.listDeliveries({ accountId, page: 1 })
  expect(deliveries).toHaveLength(1)
  return service.client.retrieveDelivery({ accountId, deliveryId: deliveries[0]!.id })
}

test('a failing delivery is exhausted after six attempts, and each pause starts with the previous failure', async () => {
  receiver.answerWith({ status: 500, body: 'no' })
  await service.endpoint(1, receiver.url)
  await doors.publish(doors.event(1))

  for (const [index, pause] of PAUSES.entries()) {
    const { delivery } = await eventually(async () => {
      const found = await onlyDelivery(1)
      expect(found.delivery?.attemptCount).toBe(index + 1)
      return found
    })
    const due = new Date(clock.now().getTime() + pause)
    expect(delivery).toMatchObject({
      status: 'pending',
      nextAttemptAt: due.toISOString().replace('Z', '000Z'),
    })
    clock.advance(pause - 1)
    await doors.polls()
    expect(receiver.requests).toHaveLength(index + 1)
    clock.advance(1)
  }
  const { delivery, attempts } = await eventually(async () => {
    const found = await onlyDelivery(1)
    expect(found.delivery?.status).toBe('exhausted')
    return found
  })
  expect(delivery).toMatchObject({ attemptCount: 6, nextAttemptAt: undefined })
  const starts = attempts.map(({ startedAt }) => Date.parse(startedAt))
  expect(starts.slice(1).map((start, index) => start - starts[index]!)).toEqual(PAUSES)
  expect(attempts.map(({ number, status, error, response }) => [number, status, error, response])).toEqual(
    [1, 2, 3, 4, 5, 6].map((number) => [number, 500, 'http_status', 'no']),
  )

  clock.advance(365 * 24 * 3_600_000)
  await doors.polls()
  expect(receiver.requests).toHaveLength(6)
  const [first, ...others] = receiver.requests
  for (const other of others) expect(other.body.equals(first!.body)).toBe(true)
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
  expect(new Set(receiver.requests.map(({ headers }) => headers['webhook-timestamp'])).size).toBe(6)
})

test('a delivery ends with the first 2xx response', async () => {
  receiver.answerWith((_, index) => ({ status: index === 0 ? 503 : 299 }))
  await service.endpoint(2, receiver.url)
  await doors.publish(doors.event(2))
  await eventually(async () => expect((await onlyDelivery(2)).delivery?.attemptCount).toBe(1))
  clock.advance(60_000)
  await eventually(async () =>
    expect((await onlyDelivery(2)).delivery).toMatchObject({ status: 'delivered', attemptCount: 2 }),
  )
  clock.advance(300_000)
  await doors.polls()
  expect(receiver.requests).toHaveLength(2)
})
