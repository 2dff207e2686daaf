import { createDatabase, type TestDatabase } from '@leadwire/test-kit'
import { pino } from 'pino'
import { createLifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { createMetrics, type Metrics } from '../process/metrics'
import { connectDatabase, type Database } from './database'
import { createClockWatch } from './watch-clock'

const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
let server: TestDatabase
let database: Database
beforeAll(async () => {
  server = await createDatabase({ name: 'clock' })
  database = connectDatabase({ url: server.url, poolSize: 1, lifecycle })
})
afterAll(async () => {
  await lifecycle.stop()
  await server.drop()
})

let metrics: Metrics
let lines: string[]
/** How far the clock of this process is ahead of PostgreSQL's, in milliseconds. */
let aheadMs: number
let compare: () => Promise<unknown>

beforeEach(() => {
  metrics = createMetrics('spec')
  lines = []
  aheadMs = 0
  const logger = pino({}, { write: (line) => void lines.push(JSON.parse(line).msg) })
  compare = createClockWatch({ database, metrics, logger, now: () => Date.now() + aheadMs })
})

const readMetric = async () => {
  const text = await metrics.getSingleMetricAsString('leadwire_clock_difference_seconds')
  return Number(/ (\S+)$/.exec(text)![1])
}

test.each([0, 50, -50, 3600, -3600])('a clock that is %i seconds ahead is in the metric', async (seconds) => {
  aheadMs = seconds * 1000
  await compare()
  const difference = await readMetric()
  expect(Math.abs(difference - seconds)).toBeLessThan(5)
})

test('a difference of more than a minute is logged once, and its end', async () => {
  const seconds = [0, 50, 70, 80, -70, 50, 0, -70]
  for (const each of seconds) {
    aheadMs = each * 1000
    await compare()
  }
  expect(lines).toEqual([
    'the clocks of this process and of PostgreSQL differ',
    'the clocks of this process and of PostgreSQL agree again',
    'the clocks of this process and of PostgreSQL differ',
  ])
})
