import { cellsOf, type Figure, ratioFigure, verdictOf } from './figure'

const figure = (value: number, better: Figure['better']): Figure => ({
  ...{ what: 'a ratio', value, range: [value, value], better, floor: 2, aim: better === 'more' ? 3 : 1 },
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
] as const)('says of %d, %s is better: %s', (value, better, verdict) => {
  expect(verdictOf(figure(value, better))).toBe(verdict)
})

it('divides round by round, so that a slow moment of the machine that hits both counts in neither', () => {
  const ratio = ratioFigure({
    ...{
      what: 'a ratio',
      ours: [100, 10, 120],
      baseline: [50, 5, 50],
      unit: '/s',
      better: 'more',
      floor: 2,
      aim: 3,
    },
  })
  expect(cellsOf(ratio)).toEqual(['a ratio', '2.00', '2.00 … 2.40', '≥ 2', '≥ 3', 'ok', '100 / 50.0 /s'])
})
