import { connectDatabase, createLifecycle, createLogger } from '@leadwire/service-kit'
import { createDatabase, eventually, skewClock, startReceiver } from '@leadwire/test-kit'
import { createDatabaseClock } from './clock'
import { openDoors, startService } from './service.fixture'

const HOUR = 3_600_000

const stops: (() => Promise<unknown>)[] = []
afterEach(async () => {
  jest.useRealTimers()
  for (const stop of stops.splice(0).reverse()) await stop()
})

test('the clock is never ahead of the database’s clock, and slow by at most one response time', async () => {
  const ground = await createDatabase()
  stops.push(ground.drop)
  const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
  stops.push(() => lifecycle.stop())
  const database = connectDatabase({ url: ground.url, poolSize: 1, lifecycle })
  skewClock(HOUR)
  const clock = await createDatabaseClock(database)
  for (let reading = 0; reading < 10; reading += 1) {
    const before = clock.now().getTime()
    const [row] = await database.query<{ ms: number }>({
      text: 'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
    })
    expect(before).toBeLessThanOrEqual(row!.ms)
    expect(before).toBeGreaterThan(row!.ms - 10_000)
    await clock.read()
  }
})

test.each([
  HOUR,
  -HOUR,
])('a process whose machine is %i ms ahead retries at the time of the database', async (ms) => {
  const doors = await openDoors()
  const receiver = await startReceiver()
  stops.push(doors.close, receiver.stop)
  receiver.answerWith((_, index) => ({ status: index === 0 ? 500 : 200 }))
  skewClock(ms)
  const service = await startService(doors, { WEBHOOK_RETRY_SCHEDULE: [1000] })
  stops.push(service.stop)
  await eventually(async () => {
    const seconds = await service.metric('leadwire_clock_difference_seconds')
    expect(Math.abs(seconds! - ms / 1000)).toBeLessThan(10)
  })
  await service.endpoint(1, receiver.url)
  await doors.publish(doors.event(1))
  const attempts = await eventually(async () => {
    const rows = await doors.rows<{ at: Date; sound: boolean }>(`
      SELECT started_at AS at, started_at BETWEEN now() - interval '1 minute' AND now() AS sound FROM attempts ORDER BY number`)
    expect(rows).toHaveLength(2)
    return rows
  })
  expect(attempts.map(({ sound }) => sound)).toEqual([true, true])
  expect(attempts[1]!.at.getTime() - attempts[0]!.at.getTime()).toBeGreaterThanOrEqual(1000 - 100)
  expect(
    Math.abs(Number(receiver.requests[0]!.headers['webhook-timestamp']) * 1000 - attempts[0]!.at.getTime()),
  ).toBeLessThan(1001)
})
