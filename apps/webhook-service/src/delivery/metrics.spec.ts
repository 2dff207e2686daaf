import { eventually, manualClock, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

test('the metrics show the age of the oldest due delivery and the number of endpoints with due deliveries', async () => {
  const doors = await openDoors()
  const receiver = await startReceiver()
  const clock = manualClock()
  // The attempt that hangs must not time out before the end of the test.
  const settings = { WEBHOOK_ENDPOINT_CONCURRENCY: 1, WEBHOOK_TIMEOUT: 60_000 }
  const service = await startService(doors, { clock, ...settings })
  const oldest = () => service.metric('leadwire_webhook_oldest_due_seconds')
  await service.endpoint(1, receiver.url)
  expect(await oldest()).toBe(0)
  receiver.answerWith((_, index) => (index === 1 ? 'hang' : { status: 200 }))
  await doors.publish(doors.event(1))
  const delivered = async () =>
    (await service.client.listDeliveries({ accountId: 1, page: 1, status: 'delivered' })).deliveries
  await eventually(async () => expect(await delivered()).toHaveLength(1))
  await doors.publish(doors.event(1))
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  // The next delivery waits, because the endpoint has reached its limit of attempts in flight.
  await doors.publish(doors.event(1))
  await eventually(async () => expect(await service.metric('leadwire_webhook_events_taken_total')).toBe(3))
  await service.client.retryDelivery({ accountId: 1, deliveryId: (await delivered())[0]!.id })
  expect(await service.metric('leadwire_webhook_endpoints_due')).toBe(1)
  clock.advance(42_000)
  await eventually(async () => expect(await oldest()).toBe(42))
  await service.stop()
  await receiver.stop()
  await doors.close()
})
