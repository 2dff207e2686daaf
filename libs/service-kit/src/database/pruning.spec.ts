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
