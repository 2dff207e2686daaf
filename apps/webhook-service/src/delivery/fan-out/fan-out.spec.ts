import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  receiver = await startReceiver()
  service = await startService(doors)
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const SUBSCRIBED = { types: ['lead.created', 'lead.updated'] as ('lead.created' | 'lead.updated')[] }

/** Creates endpoints. By default they are too many for the append step, so that the fan-out step runs. */
const createEndpoints = async (accountId: number, count = 12) => {
  const ids: number[] = []
  for (let at = 0; at < count; at += 1)
    ids.push((await service.endpoint(accountId, `${receiver.url}/${at}`, SUBSCRIBED)).id)
  return ids
}

const listDeliveries = (accountId: number) =>
  doors.rows<{ event: string; endpoint: number; status: string }>(
    `SELECT event_id AS event, endpoint_id::int AS endpoint, status FROM deliveries
     WHERE account_id = $1 ORDER BY id`,
    [accountId],
  )

const listQueue = (accountId: number) =>
  doors.rows('SELECT FROM fan_out_queue WHERE account_id = $1', [accountId])

/** Blocks the fan-outs of an account until the returned function is called. */
const holdFanOuts = async (accountId: number) => {
  const name = `held_${accountId}`
  await doors.rows(
    `ALTER TABLE deliveries ADD CONSTRAINT ${name} CHECK (account_id <> ${accountId}) NOT VALID`,
  )
  return () => doors.rows(`ALTER TABLE deliveries DROP CONSTRAINT ${name}`)
}

const isQueued = (accountId: number, count: number) =>
  eventually(async () => expect(await listQueue(accountId)).toHaveLength(count))

test('events of an account with many endpoints fan out to each of them, in the order of the log', async () => {
  const endpointIds = await createEndpoints(1)
  const events = Array.from({ length: 30 }, () => doors.event(1))
  for (const event of events) await doors.publish(event)
  await eventually(() => expect(receiver.requests).toHaveLength(360))
  const log = await doors.rows<{ id: string; fan_out: number }>(
    'SELECT id, fan_out FROM events WHERE account_id = 1 ORDER BY number',
  )
  expect(log.map(({ fan_out }) => fan_out)).toEqual(events.map(() => 12))
  const deliveries = await listDeliveries(1)
  expect([...new Set(deliveries.map(({ event }) => event))]).toEqual(log.map(({ id }) => id))
  for (const { id } of log)
    expect(deliveries.filter(({ event }) => event === id).map(({ endpoint }) => endpoint)).toEqual(
      endpointIds,
    )
  expect(await listQueue(1)).toEqual([])
})

test('an event is sent to the endpoints that existed when it was stored, with their state at the fan-out', async () => {
  const [changed, disabled, deleted, ...others] = await createEndpoints(2)
  const release = await holdFanOuts(2)
  const event = doors.event(2)
  await doors.publish(event)
  await isQueued(2, 1)
  const { client } = service
  const change = { accountId: 2, events: { types: ['lead.updated'] } }
  await client.updateWebhookEndpoint({ ...change, endpointId: changed! })
  await client.updateWebhookEndpoint({ accountId: 2, endpointId: disabled!, enabled: false })
  await client.deleteWebhookEndpoint({ accountId: 2, endpointId: deleted! })
  await service.endpoint(2, receiver.url)
  await release()
  await eventually(async () => expect(await listQueue(2)).toEqual([]))
  const deliveries = await listDeliveries(2)
  expect(deliveries.map(({ endpoint }) => endpoint)).toEqual([disabled, ...others])
  expect(deliveries[0]!.status).toBe('held')
})

test('events wait for the fan-outs of earlier events and keep their order', async () => {
  await createEndpoints(3, 2)
  const release = await holdFanOuts(3)
  const [first, second] = [doors.event(3), doors.event(3)]
  await doors.publish(first)
  await isQueued(3, 1)
  await doors.publish(second)
  await isQueued(3, 2)
  await release()
  await eventually(async () =>
    expect((await listDeliveries(3)).map(({ event }) => event)).toEqual([
      first.eventId,
      first.eventId,
      second.eventId,
      second.eventId,
    ]),
  )
})

test('events that are erased or removed while they wait get no deliveries and leave the queue', async () => {
  await createEndpoints(4, 2)
  const release = await holdFanOuts(4)
  const [erased, removed] = [doors.event(4), doors.event(4)]
  await doors.publish(erased)
  await isQueued(4, 1)
  await doors.publish(removed)
  await isQueued(4, 2)
  await service.client.eraseLeadEvents({
    accountId: 4,
    leadReference: erased.leadReference,
    eventIds: [erased.eventId],
    tombstone: false,
    keptEventIds: [],
  })
  await service.client.removeLeadEvents({ accountId: 4, leadReferences: [removed.leadReference] })
  await release()
  await isQueued(4, 0)
  expect(await listDeliveries(4)).toEqual([])
})

test('a waiting account delays no other, and reconciliation reports its event after 30 seconds', async () => {
  await createEndpoints(5, 2)
  await createEndpoints(6)
  const release = await holdFanOuts(5)
  const [waiting, other] = [doors.event(5), doors.event(6)]
  await doors.publish(waiting)
  await isQueued(5, 1)
  await doors.publish(other)
  // Ignores requests of earlier tests, which may still arrive.
  const arrived = () => receiver.requests.filter(({ headers }) => headers['webhook-id'] === other.eventId)
  await eventually(() => expect(arrived()).toHaveLength(12))
  const check = async () => {
    const next = { what: 'deliveries', notifications: false, accountId: 5, after: '' }
    const { findings } = await service.client.check({ eventIds: [], next })
    return findings.map(({ kind, eventId }) => [kind, eventId])
  }
  expect(await check()).toEqual([])
  await doors.rows(`UPDATE fan_out_queue SET queued_at = queued_at - interval '1 minute'`)
  expect(await check()).toEqual([['fan_out_overdue', waiting.eventId]])
  await release()
  await isQueued(5, 0)
})

test('a replay waits for the fan-out of its events, and does not count them as missing', async () => {
  const [endpointId] = await createEndpoints(7, 2)
  const release = await holdFanOuts(7)
  await doors.publish(doors.event(7))
  await isQueued(7, 1)
  const { client } = service
  const { replay } = await client.replayWebhookEndpoint({
    accountId: 7,
    endpointId: endpointId!,
    state: 'undelivered',
    dryRun: true,
  })
  await release()
  await isQueued(7, 0)
  await eventually(async () =>
    expect(
      await client.retrieveReplay({ accountId: 7, endpointId: endpointId!, replayId: replay!.id }),
    ).toMatchObject({ replay: { state: 'counted', matched: 0 } }),
  )
})
