// Spec files that take longest begin early, so that none of them is left for the end of a run, and apart, since most of
// them need a whole processor. jest itself knows durations only where it ran before.
const { default: Sequencer } = require('@jest/test-sequencer')

const LONGEST = [
  'upgrade/rolling',
  'crash-test',
  'scale/bounded-statements',
  'machines/machines',
  'docs/pages',
  'commands/reconcile',
  'start',
  'operations/failures',
  'console/leads-and-account',
  'abuse/schemathesis',
  'bulk/import-kills',
  'operations/kills',
  'operations/replicas',
  'operations/alerts',
]
const OTHERS_BETWEEN = 10

module.exports = class extends Sequencer {
  sort(tests) {
    const sorted = super.sort(tests)
    const longest = LONGEST.flatMap((name) =>
      sorted.filter(({ path }) => path.endsWith(`/src/${name}.spec.ts`)),
    )
    const others = sorted.filter((test) => !longest.includes(test))
    const mixed = others.flatMap((test, index) =>
      index % OTHERS_BETWEEN === 0 && longest.length > 0 ? [longest.shift(), test] : [test],
    )
    return [...mixed, ...longest]
  }
}
