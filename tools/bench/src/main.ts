import { join } from 'node:path'
import { type Options, readOptions, usage } from './options'
import { createCleanups } from './process/cleanups'
import { createReport, hasFailures } from './report/report'
import { writeResults } from './report/results'
import { runBench } from './run-bench'

const print = (line: string) => console.log(line)

const readOptionsOrExit = (): Options => {
  try {
    return readOptions(process.argv.slice(2), process.env)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const options = readOptionsOrExit()
const cleanups = createCleanups()
const report = createReport(print)
let stopping = false

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, async () => {
    if (!stopping) print('stopping')
    stopping = true
    await cleanups.runAll()
    process.exit(130)
  })

const run = async (): Promise<void> => {
  try {
    const machine = await runBench({ options, cleanups, report, print })
    // Stops the services first, because they write their profiles when they end.
    await cleanups.runAll()
    await writeResults(options, machine, report.findings)
    print(`written: ${join(options.out, 'results.md')}`)
  } finally {
    await cleanups.runAll()
  }
}

run().then(
  () => process.exit(hasFailures(report.findings) ? 1 : 0),
  (error: unknown) => {
    // After a signal the run fails, because the signal handler stops the processes that the run uses. The
    // handler also exits, so this function must not.
    if (stopping) return
    console.error(error instanceof Error ? error.stack : error)
    process.exit(2)
  },
)
