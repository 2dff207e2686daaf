import { newTraceparent, parseTraceparent } from './tracing'

const TRACE = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a child stays in its trace and has a span of its own', () => {
  const child = newTraceparent(TRACE)
  expect(parseTraceparent(child)).toBe(child)
  expect(child.slice(0, 36)).toBe(TRACE.slice(0, 36))
  expect(child.slice(52)).toBe('-01')
  expect(child).not.toBe(TRACE)
})

test('only a well-formed traceparent is taken', () => {
  expect(parseTraceparent(TRACE)).toBe(TRACE)
  expect(parseTraceparent(newTraceparent())).toBeDefined()
  for (const bad of [
    undefined,
    '',
    `${TRACE}x`,
    TRACE.replace('4bf9', 'XXXX'),
    `00-${'0'.repeat(32)}${TRACE.slice(35)}`,
  ]) {
    expect(parseTraceparent(bad)).toBeUndefined()
  }
})
