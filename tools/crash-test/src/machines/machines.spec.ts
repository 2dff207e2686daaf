import { findMinio } from '@leadwire/embedded'
import { crashTest } from '../crash-test'
import { render } from '../report'

const SEED = 20_261_124

// `npm run crash-test -- --machines` goes on for longer, with other seeds.
test(`a machine of each kind is lost for good, and nothing with it (seed ${SEED})`, async () => {
  const minio = await findMinio(process.env).catch((error: Error) =>
    console.warn(`skipped: ${error.message}`),
  )
  if (!minio) return
  const report = await crashTest({
    ...{ seed: SEED, minutes: 0.5, machines: true, asynchronous: false },
    say: () => {},
  })
  if (report.errors.length > 0) throw new Error(render(report))
  expect(report.hazards).toHaveLength(4)
  expect(report.verdict.accepted).toBeGreaterThan(100)
}, 1_200_000)
