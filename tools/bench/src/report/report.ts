import type { CpuTimes } from '../measure/cpu'
import { median, sumValues } from '../measure/statistics'
import {
  buildRatioFigure,
  buildSeriesFigure,
  type Figure,
  formatNumber,
  type Goal,
  judgeFigure,
  type Ratio,
  renderCells,
  type Series,
} from './figure'

export interface Findings {
  figures: Figure[]
  notes: string[]
  /** Scenarios that could not be measured. */
  failures: { scenario: string; message: string }[]
}

export interface Report {
  findings: Findings
  addFigure(figure: Figure): void
  addRatio(ratio: Ratio): void
  addSeries(series: Series): void
  /** Adds the processor time of the whole stack for each request, in microseconds. */
  addCpu(what: string, rounds: { cpu: CpuTimes }[], goal?: Omit<Goal, 'better'>): void
  /** Adds a finding without a goal. */
  addNote(text: string): void
  addFailure(scenario: string, error: Error): void
}

/** Collects what scenarios find, and prints each finding at once. */
export const createReport = (print: (line: string) => void): Report => {
  const findings: Findings = { figures: [], notes: [], failures: [] }
  const addFigure = (figure: Figure) => {
    findings.figures.push(figure)
    const [what, value, spread, floor, aim, verdict, detail] = renderCells(figure)
    const goals = floor && `floor ${floor}, aim ${aim}`
    print(`  ${what!.padEnd(66)} ${value!.padStart(7)} ${spread!.padEnd(16)} ${goals} ${verdict}  ${detail}`)
  }
  return {
    findings,
    addFigure,
    addRatio: (ratio) => addFigure(buildRatioFigure(ratio)),
    addSeries: (series) => addFigure(buildSeriesFigure(series)),
    addCpu: (what, rounds, goal) => {
      addFigure(
        buildSeriesFigure({
          what: `processor time of ${what}, µs`,
          values: rounds.map(({ cpu }) => sumValues(cpu)),
          better: 'less',
          ...goal,
          detail: renderCpu(rounds),
        }),
      )
    },
    addNote: (text) => {
      findings.notes.push(text)
      print(`  ${text}`)
    },
    addFailure: (scenario, error) => {
      const message = error.message.split('\n')[0]!
      findings.failures.push({ scenario, message })
      print(`  ${scenario} FAILED: ${error.stack ?? message}`)
    },
  }
}

/** Whether a figure misses its floor, or a scenario could not be measured. */
export const hasFailures = ({ figures, failures }: Findings): boolean =>
  failures.length > 0 || figures.some((figure) => judgeFigure(figure) === 'FAIL')

/** Renders the median processor time of each process that takes at least half a microsecond. */
const renderCpu = (rounds: { cpu: CpuTimes }[]): string => {
  const names = Object.keys(rounds[0]?.cpu ?? {})
  const medians = names.map((name) => ({ name, time: median(rounds.map(({ cpu }) => cpu[name] ?? 0)) }))
  return medians
    .filter(({ time }) => time >= 0.5)
    .map(({ name, time }) => `${name} ${formatNumber(Math.round(time))}`)
    .join(', ')
}
