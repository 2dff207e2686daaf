import { eventually, manualClock, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../service.fixture'

test('the age of the oldest due delivery is reported while it waits, else 0', async () => {
  const doors = await openDoors()
  const receiver = await startReceiver()
  const clock = manualClock()
  const service = await startService(doors, { clock, WEBHOOK_ENDPOINT_CONCURRENCY: 1 })
  const oldest = () => service.metric('leadwire_webhook_oldest_due_seconds')
  await service.endpoint(1, receiver.url)
  expect(await oldest()).toBe(0)
  receiver.answerWith((_, index) => (index === 0 ? 'hang' : { status: 200 }))
  await doors.publish(doors.event(1))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  // The endpoint's only place is taken.
  await doors.publish(doors.event(1))
  await eventually(async () => expect(await service.metric('leadwire_webhook_events_taken_total')).toBe(2))
  clock.advance(42_000)
  await eventually(async () => expect(await oldest()).toBe(42))
  await service.stop()
  await receiver.stop()
  await doors.close()
})
