import { createReport, hasFailures } from './report'

const figure = { what: 'a rate', range: [1, 1] as [number, number], better: 'more' as const, detail: '' }

it('fails when a figure misses its floor or a scenario could not be measured', () => {
  const report = createReport(() => {})
  report.addFigure({ ...figure, value: 1, floor: 1, aim: 2 })
  report.addFigure({ ...figure, value: 1 })
  expect(hasFailures(report.findings)).toBe(false)

  const missed = createReport(() => {})
  missed.addFigure({ ...figure, value: 0.9, floor: 1, aim: 2 })
  expect(hasFailures(missed.findings)).toBe(true)

  report.addFailure('list', new Error('the stack ended'))
  expect(hasFailures(report.findings)).toBe(true)
})
