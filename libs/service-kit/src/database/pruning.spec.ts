import { eventually } from '@leadwire/test-kit'
import { createLogger } from '../process/logger'
import { createLoops } from '../process/loops'
import { createMetrics } from '../process/metrics'
import { startPruning } from './pruning'

test('rows of which no run is ever completed have the time of the start as their last run', async () => {
  const metrics = createMetrics('spec')
  const loops = createLoops(createLogger({ service: 'spec', level: 'silent' }))
  startPruning({ loops, metrics })('keys', { batch: () => Promise.reject(new Error('no')) })
  await loops.stop()
  expect(await metrics.metrics()).toMatch(
    /^leadwire_pruning_last_run_timestamp_seconds{rows="keys",.*} 1\d{9}/m,
  )
})

test('a run that failed is repeated soon, and one that succeeded after its interval', async () => {
  const metrics = createMetrics('spec')
  const loops = createLoops(createLogger({ service: 'spec', level: 'silent' }))
  let runs = 0
  const batch = async () => {
    runs += 1
    if (runs === 1) throw new Error('the other service is still starting')
    return { rows: 3, more: false }
  }
  startPruning({ loops, metrics })('files', { batch, runsApartMs: 3_600_000 })
  await eventually(async () =>
    expect(await metrics.metrics()).toMatch(/^leadwire_pruned_rows_total{rows="files",.*} 3$/m),
  )
  await loops.stop()
  expect(runs).toBe(2)
})
