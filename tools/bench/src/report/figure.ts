import { median } from '../measure/statistics'

export interface Goal {
  better: 'more' | 'less'
  /** The worst value with which the benchmark passes. */
  floor?: number
  aim?: number
}

export interface Figure extends Goal {
  what: string
  /** A ratio to the baseline, or an amount. */
  value: number
  /** The smallest and the largest value of the rounds. */
  range: [number, number]
  /** The two values behind a ratio, or the parts of an amount. */
  detail: string
}

/** Two series of rounds. Rounds with the same index ran directly after each other. */
export interface Ratio extends Goal {
  what: string
  ours: number[]
  baseline: number[]
  unit: string
}

/** One value for each round. */
export interface Series extends Goal {
  what: string
  values: number[]
  detail?: string
}

export type Verdict = 'aim' | 'ok' | 'FAIL' | ''

/** Computes a ratio for each pair of rounds. Returns a figure with the median of these ratios. */
export const buildRatioFigure = ({ ours, baseline, unit, ...figure }: Ratio): Figure => {
  const values = ours.map((value, round) => value / baseline[round]!)
  const detail = `${formatNumber(median(ours))} / ${formatNumber(median(baseline))} ${unit}`
  return buildSeriesFigure({ ...figure, values, detail })
}

/** Returns a figure with the median of the rounds. */
export const buildSeriesFigure = ({ values, detail = '', ...figure }: Series): Figure => ({
  ...figure,
  value: median(values),
  range: [Math.min(...values), Math.max(...values)],
  detail,
})

export const judgeFigure = ({ value, better, floor, aim = floor }: Figure): Verdict => {
  if (floor === undefined || aim === undefined) return ''
  // NaN reaches no goal, so a value of NaN fails.
  const reaches = (goal: number) => (better === 'more' ? value >= goal : value <= goal)
  if (!reaches(floor)) return 'FAIL'
  return reaches(aim) ? 'aim' : 'ok'
}

/** Formats a number with two or three significant digits, and thousands separators. */
export const formatNumber = (value: number): string => {
  if (!Number.isFinite(value)) return String(value)
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/** Renders a figure as the cells of a row: what, value, range, floor, aim, verdict, detail. */
export const renderCells = (figure: Figure): string[] => {
  const { what, value, range, better, floor, aim, detail } = figure
  const sign = better === 'more' ? '≥' : '≤'
  const renderGoal = (goal: number | undefined) => (goal === undefined ? '' : `${sign} ${goal}`)
  const spread = range[0] === range[1] ? '' : `${formatNumber(range[0])} … ${formatNumber(range[1])}`
  const verdict = judgeFigure(figure)
  return [what, formatNumber(value), spread, renderGoal(floor), renderGoal(aim), verdict, detail]
}
