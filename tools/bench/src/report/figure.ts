import { median } from '../measure/statistics'

export interface Goal {
  better: 'more' | 'less'
  floor?: number
  aim?: number
}

export interface Figure extends Goal {
  what: string
  /** Ours over the baseline's, or an amount. */
  value: number
  /** Smallest and largest of the rounds. */
  range: [number, number]
  /** What was divided by what, or what it is made of. */
  detail: string
}

/** What a ratio is made of: two series of rounds, in pairs that ran next to each other. */
export interface Ratio extends Goal {
  what: string
  ours: number[]
  baseline: number[]
  unit: string
}

/** One value for each round. */
export interface Values extends Goal {
  what: string
  values: number[]
  detail?: string
}

export type Verdict = 'aim' | 'ok' | 'FAIL' | ''

/** The median of the ratios, pair by pair. */
export const ratioFigure = ({ ours, baseline, unit, ...figure }: Ratio): Figure => ({
  ...seriesFigure({ ...figure, values: ours.map((value, round) => value / baseline[round]!) }),
  detail: `${plain(median(ours))} / ${plain(median(baseline))} ${unit}`,
})

/** The median of rounds. */
export const seriesFigure = ({ values, detail = '', ...figure }: Values): Figure => ({
  ...figure,
  detail,
  value: median(values),
  range: [Math.min(...values), Math.max(...values)],
})

export const verdictOf = ({ value, better, floor, aim }: Figure): Verdict => {
  if (floor === undefined) return ''
  // Written so that a value that is not a number fails.
  const reaches = (goal: number) => (better === 'more' ? value >= goal : value <= goal)
  if (!reaches(floor)) return 'FAIL'
  return reaches(aim ?? floor) ? 'aim' : 'ok'
}

/** A number with as many digits as say something. */
export const plain = (value: number): string => {
  if (!Number.isFinite(value)) return String(value)
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

/** What is printed of a figure: what, value, smallest and largest round, floor, aim, verdict, detail. */
export const cellsOf = (figure: Figure): string[] => {
  const goal = (value: number | undefined) =>
    value === undefined ? '' : `${figure.better === 'more' ? '≥' : '≤'} ${value}`
  const { what, value, range, floor, aim, detail } = figure
  const spread = range[0] === range[1] ? '' : `${plain(range[0])} … ${plain(range[1])}`
  return [what, plain(value), spread, goal(floor), goal(aim), verdictOf(figure), detail]
}
