import { LEADS_STREAM, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { eventually, startReceiver } from '@leadwire/test-kit'
import { AckPolicy, DiscardPolicy, jetstreamManager } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { openDoors, startService } from '../service.fixture'

test('a stream and a consumer that exist get the settings, and keep what an operator gave them', async () => {
  const doors = await openDoors()
  const manager = await jetstreamManager(doors.connection)
  await manager.streams.add({
    name: LEADS_STREAM.name,
    subjects: [LEADS_STREAM.subjects.events],
    discard: DiscardPolicy.New,
    max_age: nanos(7 * 24 * 3_600_000),
    description: 'of the operator',
  })
  await manager.consumers.add(LEADS_STREAM.name, {
    durable_name: WEBHOOK_CONSUMER,
    filter_subject: LEADS_STREAM.subjects.events,
    ack_policy: AckPolicy.Explicit,
    max_ack_pending: 7,
  })
  const receiver = await startReceiver()
  const service = await startService(doors)
  await service.endpoint(1, receiver.url)
  await doors.publish(doors.event(1))
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect((await manager.streams.info(LEADS_STREAM.name)).config).toMatchObject({
    max_age: nanos(3_600_000),
    max_bytes: 512 * 2 ** 20,
    discard: 'old',
    duplicate_window: nanos(10_000),
    description: 'of the operator',
    num_replicas: 1,
  })
  expect((await manager.consumers.info(LEADS_STREAM.name, WEBHOOK_CONSUMER)).config).toMatchObject({
    max_ack_pending: 20_000,
    ack_wait: nanos(5000),
  })
  await service.stop()
  await receiver.stop()
  await doors.close()
})
