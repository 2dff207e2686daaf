import { crashTest } from './crash-test'
import { render } from './report'

const SEED = 20_261_124

// `npm run crash-test` goes on for longer, with other seeds.
test(`half a minute of kills and freezes loses nothing (seed ${SEED})`, async () => {
  const report = await crashTest({
    ...{ seed: SEED, minutes: 0.5, machines: false, asynchronous: false },
    say: () => {},
  })
  if (report.errors.length > 0) throw new Error(render(report))
  expect(report.hazards.length).toBeGreaterThan(3)
  expect(report.verdict.accepted).toBeGreaterThan(100)
}, 600_000)
