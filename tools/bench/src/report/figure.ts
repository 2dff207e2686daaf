import { median } from '../load/percentiles'

export type Figure = {
  what: string
  /** Ours over the baseline's, or an amount. */
  value: number
  /** Smallest and largest of the rounds. */
  range: [number, number]
  /** Whether more is better. */
  better: 'more' | 'less'
  floor?: number
  aim?: number
  /** What was divided by what, in words. */
  detail: string
}

export type Verdict = 'aim' | 'floor' | 'FAIL' | ''

/** A ratio of two series of rounds, pair by pair, since both halves of a pair ran next to each other. */
export function ratioFigure({
  ours,
  baseline,
  unit,
  ...figure
}: Omit<Figure, 'value' | 'range' | 'detail'> & {
  ours: number[]
  baseline: number[]
  unit: string
}): Figure {
  const ratios = ours.map((value, round) => value / baseline[round]!)
  return {
    ...figure,
    value: median(ratios),
    range: [Math.min(...ratios), Math.max(...ratios)],
    detail: `${plain(median(ours))} / ${plain(median(baseline))} ${unit}`,
  }
}

export function verdictOf({ value, better, floor, aim }: Figure): Verdict {
  const reaches = (goal: number) => (better === 'more' ? value >= goal : value <= goal)
  if (floor === undefined) return ''
  // Written so that a value that is not a number fails.
  if (!reaches(floor)) return 'FAIL'
  return aim === undefined || reaches(aim) ? 'aim' : 'floor'
}

/** A number with as many digits as say something. */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return String(value)
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-GB')
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2)
}

export function goalOf(better: Figure['better'], goal: number | undefined): string {
  return goal === undefined ? '' : `${better === 'more' ? '≥' : '≤'} ${goal}`
}

export function figureLine(figure: Figure): string {
  const { what, value, range, better, floor, aim, detail } = figure
  const goals = floor === undefined ? '' : `floor ${goalOf(better, floor)}, aim ${goalOf(better, aim)}  `
  const spread = `(${plain(range[0])} … ${plain(range[1])})`
  return `  ${what.padEnd(58)} ${plain(value).padStart(7)} ${spread.padEnd(17)} ${goals}${verdictOf(figure)}  ${detail}`
}
