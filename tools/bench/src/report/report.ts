import type { CpuTimes } from '../measure/cpu'
import { type Figure, figureLine } from './figure'

export type Picture = { file: string; title: string; svg: string }

export type Report = {
  figure(figure: Figure): void
  /** A finding that is no ratio; printed, and a line of the results. */
  note(text: string): void
  /** A part that could not be measured. */
  failure(scenario: string, error: Error): void
  /** Microseconds for each request of a kind, by process. */
  cpu(kind: string, times: CpuTimes): void
  chart(picture: Picture): void
  flameGraph(picture: Picture): void
  all(): Findings
}

export type Findings = {
  figures: Figure[]
  notes: string[]
  failures: { scenario: string; message: string }[]
  cpu: { kind: string; times: CpuTimes }[]
  charts: Picture[]
  flameGraphs: Picture[]
}

/** Collects what scenarios find, and prints it as it comes. */
export function createReport(print: (line: string) => void): Report {
  const findings: Findings = { figures: [], notes: [], failures: [], cpu: [], charts: [], flameGraphs: [] }
  return {
    figure: (figure) => {
      findings.figures.push(figure)
      print(figureLine(figure))
    },
    note: (text) => {
      findings.notes.push(text)
      print(`  ${text}`)
    },
    failure: (scenario, error) => {
      const message = error.message.split('\n')[0]!
      findings.failures.push({ scenario, message })
      print(`  ${scenario} FAILED: ${error.stack ?? message}`)
    },
    cpu: (kind, times) => {
      findings.cpu.push({ kind, times })
    },
    chart: (picture) => {
      findings.charts.push(picture)
    },
    flameGraph: (picture) => {
      findings.flameGraphs.push(picture)
    },
    all: () => findings,
  }
}
