import { join } from 'node:path'
import { type Options, readOptions, usage } from './options'
import { createGround } from './process/ground'
import { verdictOf } from './report/figure'
import { createReport } from './report/report'
import { writeResults } from './report/results'
import { runBench } from './run-bench'

const say = (line: string) => console.log(line)

const optionsOrExit = (): Options => {
  try {
    return readOptions(process.argv.slice(2), process.env)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const options = optionsOrExit()
const ground = createGround()
const findings = createReport(say)
let stopping = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, async () => {
    if (!stopping) say('stopping')
    stopping = true
    await ground.leave()
    process.exit(130)
  })

/** Answers with whether any figure misses its floor or could not be taken. */
const run = async (): Promise<boolean> => {
  try {
    const machine = await runBench({ options, ground, report: findings, say })
    // The services write their profiles when they end.
    await ground.leave()
    await writeResults(options, { machine, findings })
    say(`written: ${join(options.out, 'results.md')}`)
    return findings.failures.length > 0 || findings.figures.some((figure) => verdictOf(figure) === 'FAIL')
  } finally {
    await ground.leave()
  }
}

run().then(
  (failed) => process.exit(failed ? 1 : 0),
  (error: unknown) => {
    // Its processes are being taken from under it.
    if (stopping) return
    console.error(error instanceof Error ? error.stack : error)
    process.exit(2)
  },
)
