import { eventually, type Receiver, startReceiver } from '@leadwire/test-kit'
import { openDoors, startService } from '../../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
let service: Awaited<ReturnType<typeof startService>>
let receiver: Receiver

beforeAll(async () => {
  doors = await openDoors()
  // Each concurrent call has a connection. A call that waited 3 s for a connection would fail.
  service = await startService(doors, { DATABASE_POOL_SIZE: 20 })
  receiver = await startReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
  await doors.close()
})
beforeEach(() => receiver.clear())

const hold = (accountId: number, held: boolean) => service.client.holdAccount({ accountId, held })

const set = async (accountId: number, endpointId: number, enabled: boolean) =>
  (await service.client.updateWebhookEndpoint({ accountId, endpointId, enabled })).endpoint!.enabled

const isEnabled = async (accountId: number, endpointId: number) =>
  (await service.client.retrieveWebhookEndpoint({ accountId, endpointId })).endpoint!.enabled

const readAudit = async (accountId: number, targetId: number) => {
  const { entries } = await service.audit.listAudit({ accountId })
  const updates = entries.filter((entry) => entry.targetId === targetId && entry.action.endsWith('.updated'))
  return updates.map(({ changes }) => changes && JSON.parse(`${changes}`)).toReversed()
}

test('an endpoint that is disabled during a suspension stays disabled after it', async () => {
  const { id } = await service.endpoint(1, receiver.url)
  const { id: other } = await service.endpoint(1, receiver.url)
  await hold(1, true)
  expect(await set(1, id, false)).toBe(false)
  await hold(1, false)
  expect(await isEnabled(1, id)).toBe(false)
  expect(await isEnabled(1, other)).toBe(true)
  expect(await readAudit(1, id)).toEqual([{ enabled: { from: true, to: false } }])
})

test('an endpoint that is enabled during a suspension sends after it', async () => {
  const { id: marked } = await service.endpoint(2, receiver.url)
  const { id: disabled } = await service.endpoint(2, receiver.url, { enabled: false })
  await hold(2, true)
  for (const id of [marked, disabled]) expect(await set(2, id, true)).toBe(false)
  await service.client.updateWebhookEndpoint({ accountId: 2, endpointId: marked, description: 'new' })
  await doors.publish(doors.event(2))
  await eventually(async () =>
    expect((await service.client.listDeliveries({ accountId: 2, page: 1 })).deliveries).toMatchObject([
      { status: 'held' },
      { status: 'held' },
    ]),
  )
  // A repeated command changes nothing.
  await hold(2, true)
  await doors.polls()
  expect(receiver.requests).toEqual([])
  await hold(2, false)
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  for (const id of [marked, disabled]) expect(await isEnabled(2, id)).toBe(true)
  expect(await readAudit(2, disabled)).toEqual([{ enabled: { from: false, to: true } }])
  expect(await set(2, marked, false)).toBe(false)
  expect(await set(2, marked, true)).toBe(true)
})

test('an endpoint that is enabled during a suspension is enabled after it, even if the suspension disabled none', async () => {
  const { id } = await service.endpoint(3, receiver.url, { enabled: false })
  await hold(3, true)
  expect(await set(3, id, true)).toBe(false)
  expect(await set(3, id, false)).toBe(false)
  expect(await set(3, id, true)).toBe(false)
  await hold(3, false)
  expect(await isEnabled(3, id)).toBe(true)
})

test('an endpoint that is created during a suspension sends after it', async () => {
  await hold(4, true)
  const { id } = await service.endpoint(4, receiver.url)
  const { id: disabled } = await service.endpoint(4, receiver.url, { enabled: false })
  expect(await isEnabled(4, id)).toBe(false)
  await hold(4, false)
  expect(await isEnabled(4, id)).toBe(true)
  expect(await isEnabled(4, disabled)).toBe(false)
})

test('changes that run concurrently with a suspension leave no endpoint enabled', async () => {
  const ids = []
  for (let count = 0; count < 8; count += 1)
    ids.push((await service.endpoint(5, receiver.url, { enabled: false })).id)
  for (let round = 0; round < 5; round += 1) {
    // On a busy machine, the service may refuse some of the concurrent changes. Like a client, repeats them.
    const changes = ids.map((id) => eventually(() => set(5, id, true)))
    const creation = eventually(() => service.endpoint(5, receiver.url))
    await Promise.all([eventually(() => hold(5, true)), creation, ...changes])
    const { endpoints } = await service.client.listWebhookEndpoints({ accountId: 5 })
    expect(endpoints.filter(({ enabled }) => enabled)).toEqual([])
    await hold(5, false)
    for (const id of ids) await set(5, id, false)
  }
})

test('deleting an account deletes its suspension', async () => {
  await service.endpoint(6, receiver.url)
  await hold(6, true)
  while (!(await service.client.removeAccount({ accountId: 6 })).done);
  expect(await isEnabled(6, (await service.endpoint(6, receiver.url)).id)).toBe(true)
})
