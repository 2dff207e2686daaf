import { crashTest } from '../../../crash-test/src/crash-test'
import { renderReport } from '../../../crash-test/src/report'

const SEED = 20_261_124

// `npm run crash-test` runs longer, with other seeds.
test(`kills and freezes for half a minute lose nothing (seed ${SEED})`, async () => {
  const report = await crashTest({
    seed: SEED,
    minutes: 0.5,
    machines: false,
    asynchronous: false,
    say: () => {},
  })
  if (report.errors.length > 0) throw new Error(renderReport(report))
  expect(report.hazards.length).toBeGreaterThan(3)
  expect(report.verdict.accepted).toBeGreaterThan(100)
}, 600_000)
