import { crashTest } from './crash-test'
import { type Options, readOptions, usage } from './options'
import { renderReport, writeReport } from './report'

const say = (line: string) => console.log(line)

const readOptionsOrExit = (): Options => {
  try {
    return readOptions(process.argv.slice(2), process.env)
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${usage}`)
    process.exit(2)
  }
}

const { out, ...options } = readOptionsOrExit()
say(`crash test: seed ${options.seed}, ${options.minutes} minutes`)
crashTest({ ...options, say }).then(
  async (report) => {
    await writeReport(out, report)
    say(`\n${renderReport(report)}\nwritten: ${out}/crash-test.md`)
    process.exit(report.errors.length === 0 ? 0 : 1)
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exit(2)
  },
)
