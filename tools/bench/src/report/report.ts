import type { CpuTimes } from '../measure/cpu'
import { median, totalOf } from '../measure/statistics'
import {
  cellsOf,
  type Figure,
  type Goal,
  plain,
  type Ratio,
  ratioFigure,
  seriesFigure,
  type Values,
} from './figure'

export interface Findings {
  figures: Figure[]
  notes: string[]
  failures: { scenario: string; message: string }[]
}

export interface Report extends Findings {
  figure(figure: Figure): void
  ratio(ratio: Ratio): void
  series(values: Values): void
  /** A finding without a goal. */
  note(text: string): void
  /** A part that could not be measured. */
  failure(scenario: string, error: Error): void
  /** Microseconds of the whole stack for each request, one of `rounds` each. */
  cpu(what: string, rounds: { cpu: CpuTimes }[], goal?: Omit<Goal, 'better'>): void
}

/** Collects what scenarios find, and prints it as it comes. */
export const createReport = (print: (line: string) => void): Report => {
  const report: Report = {
    ...{ figures: [], notes: [], failures: [] },
    figure: (figure) => {
      report.figures.push(figure)
      const [what, value, spread, floor, aim, verdict, detail] = cellsOf(figure)
      const goals = floor && `floor ${floor}, aim ${aim}`
      print(
        `  ${what!.padEnd(66)} ${value!.padStart(7)} ${spread!.padEnd(16)} ${goals} ${verdict}  ${detail}`,
      )
    },
    ratio: (ratio) => report.figure(ratioFigure(ratio)),
    series: (values) => report.figure(seriesFigure(values)),
    note: (text) => {
      report.notes.push(text)
      print(`  ${text}`)
    },
    failure: (scenario, error) => {
      const message = error.message.split('\n')[0]!
      report.failures.push({ scenario, message })
      print(`  ${scenario} FAILED: ${error.stack ?? message}`)
    },
    cpu: (what, rounds, goal) => {
      const names = Object.keys(rounds[0]?.cpu ?? {})
      const each = names.map((name) => ({ name, time: median(rounds.map(({ cpu }) => cpu[name] ?? 0)) }))
      report.series({
        what: `processor time of ${what}, µs`,
        values: rounds.map(({ cpu }) => totalOf(cpu)),
        better: 'less',
        ...goal,
        detail: each
          .filter(({ time }) => time >= 0.5)
          .map(({ name, time }) => `${name} ${plain(Math.round(time))}`)
          .join(', '),
      })
    },
  }
  return report
}
