import { findMinio } from '@leadwire/embedded'
import { crashTest } from '../../../crash-test/src/crash-test'
import { renderReport } from '../../../crash-test/src/report'

const SEED = 20_261_124

// `npm run crash-test -- --machines` runs longer, with other seeds.
test(`the loss of a machine of each kind loses no data (seed ${SEED})`, async () => {
  const minio = await findMinio(process.env).catch((error: Error) =>
    console.warn(`skipped: ${error.message}`),
  )
  if (!minio) return
  const report = await crashTest({
    seed: SEED,
    minutes: 0.5,
    machines: true,
    asynchronous: false,
    say: () => {},
  })
  if (report.errors.length > 0) throw new Error(renderReport(report))
  expect(report.hazards).toHaveLength(4)
  expect(report.verdict.accepted).toBeGreaterThan(100)
}, 1_200_000)
