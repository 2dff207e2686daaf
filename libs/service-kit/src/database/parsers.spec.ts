import { isoMicroseconds } from './parsers'

test.each([
  ['2026-01-02 03:04:05+00', '2026-01-02T03:04:05.000000Z'],
  ['2026-01-02 03:04:05.12+00', '2026-01-02T03:04:05.120000Z'],
  ['2026-01-02 03:04:05.000001+00', '2026-01-02T03:04:05.000001Z'],
])('%s is %s', (text, iso) => {
  expect(isoMicroseconds(text)).toBe(iso)
})

test.each(['infinity', '2026-01-02 03:04:05+01', ''])('%s is refused', (text) => {
  expect(() => isoMicroseconds(text)).toThrow(TypeError)
})
