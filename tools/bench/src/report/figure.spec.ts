import { buildRatioFigure, type Figure, judgeFigure, renderCells } from './figure'

const buildFigure = (value: number, better: Figure['better']): Figure => ({
  what: 'a ratio',
  value,
  range: [value, value],
  better,
  floor: 2,
  aim: better === 'more' ? 3 : 1,
  detail: '',
})

it.each([
  [1.9, 'more', 'FAIL'],
  [2, 'more', 'ok'],
  [3, 'more', 'aim'],
  [2.1, 'less', 'FAIL'],
  [2, 'less', 'ok'],
  [1, 'less', 'aim'],
  [Number.NaN, 'more', 'FAIL'],
  [Number.NaN, 'less', 'FAIL'],
] as const)('judges %d, where %s is better, as %s', (value, better, verdict) => {
  expect(judgeFigure(buildFigure(value, better))).toBe(verdict)
})

it('divides round by round, so that a slow moment that both contenders share does not count', () => {
  const ratio = buildRatioFigure({
    what: 'a ratio',
    ours: [100, 10, 120],
    baseline: [50, 5, 50],
    unit: '/s',
    better: 'more',
    floor: 2,
    aim: 3,
  })
  expect(renderCells(ratio)).toEqual(['a ratio', '2.00', '2.00 … 2.40', '≥ 2', '≥ 3', 'ok', '100 / 50.0 /s'])
})
