import { LEADS_STREAM, WEBHOOK_CONSUMER } from '@leadwire/contracts'
import { eventually, startReceiver } from '@leadwire/test-kit'
import { AckPolicy, DiscardPolicy, jetstreamManager } from '@nats-io/jetstream'
import { nanos } from '@nats-io/transport-node'
import { pino } from 'pino'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
beforeAll(async () => {
  doors = await openDoors()
})
afterAll(() => doors.close())

test('an existing stream and consumer get the settings, and keep those that an operator has added', async () => {
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
})

test('the service is not ready while the stream cannot be created, and logs this once', async () => {
  const { streams } = await jetstreamManager(doors.connection)
  await streams.delete(LEADS_STREAM.name)
  await streams.add({ name: 'other', subjects: [LEADS_STREAM.subjects.events] })
  const lines: { msg: string; consumer: string }[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const service = await startService(doors, { logger })
  let polls = 0
  // The service tries to create the stream every 250 ms. 20 polls take at least 400 ms, so the service fails
  // more than once and must log only the first failure.
  await eventually(async () => {
    expect(await service.readiness()).toEqual({ status: 'not ready', missing: ['stream'] })
    polls += 1
    expect(polls).toBeGreaterThan(20)
  })
  const failures = lines.filter(({ msg }) => msg === 'could not consume events; retrying')
  expect(failures.map(({ consumer }) => consumer).sort()).toEqual([
    'webhook-service',
    'webhook-service-notifications',
  ])
  await streams.delete('other')
  await eventually(async () => expect(await service.readiness()).toEqual({ status: 'ready' }))
  await service.stop()
})
