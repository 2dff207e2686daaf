import { openDoors, startService } from '../service.fixture'

let doors: Awaited<ReturnType<typeof openDoors>>
beforeAll(async () => {
  doors = await openDoors()
})
afterAll(() => doors.close())

const watch = ({ client }: Awaited<ReturnType<typeof startService>>) =>
  client.watchLogs({})[Symbol.asyncIterator]()

test('each watcher is notified of an event that any process has stored when the event can be read', async () => {
  const services = [await startService(doors), await startService(doors)]
  for (let sequence = 1; sequence <= 20; sequence += 1) {
    // Watches anew for each event, because a stream ends after 10 s.
    const watchers = services.map(watch)
    for (const watcher of watchers) expect((await watcher.next()).value).toEqual({ accountIds: [] })
    const heard = watchers.map((watcher) => watcher.next())
    await doors.publish(doors.event(5))
    for (const next of heard) expect((await next).value.accountIds).toEqual([5])
    const { events } = await services[0]!.client.listEvents({ accountId: 5, types: [], limit: 100 })
    expect(events).toHaveLength(sequence)
  }
  await Promise.all(services.map(({ stop }) => stop()))
})

test('a drain ends all streams', async () => {
  const service = await startService(doors)
  const watcher = watch(service)
  await watcher.next()
  const next = watcher.next()
  await service.stop()
  expect((await next).done).toBe(true)
})
