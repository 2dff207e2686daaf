import { eventually } from '@leadwire/test-kit'
import { pino } from 'pino'
import { limitRepeats } from './limit-repeats'
import { createLoops } from './loops'

const collectLines = () => {
  const lines: Record<string, unknown>[] = []
  const logger = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  return { lines, logger }
}

const refuse = (port: number) =>
  Object.assign(new Error(`connect EMFILE 127.0.0.1:${port}`), { code: 'EMFILE' })

test('logs the first of many failures that differ only in ids, and then their number', async () => {
  const { lines, logger } = collectLines()
  const failures = limitRepeats(logger, 20)
  for (let id = 1; id <= 1000; id += 1)
    failures.warn({ err: refuse(id), delivery_id: id }, 'could not make an attempt')
  expect(lines).toMatchObject([{ msg: 'could not make an attempt', delivery_id: 1, err: { code: 'EMFILE' } }])
  await eventually(() => expect(lines).toHaveLength(2))
  expect(lines[1]).toMatchObject({ level: 40, repeats: 999, reason: 'connect EMFILE 127.0.0.1:1' })
  expect(lines[1]).not.toHaveProperty('delivery_id')
})

test('logs a failure whose reason is no error', () => {
  const { lines, logger } = collectLines()
  const failures = limitRepeats(logger)
  for (const err of [undefined, undefined, 'away', { code: 1 }]) failures.warn({ err }, 'a round failed')
  expect(lines).toHaveLength(3)
})

test('logs failures that differ', () => {
  const { lines, logger } = collectLines()
  const failures = limitRepeats(logger)
  failures.warn({ err: refuse(1), loop: 'one' }, 'a round failed')
  failures.warn({ err: refuse(1), loop: 'two' }, 'a round failed')
  failures.warn({ err: new Error('another'), loop: 'two' }, 'a round failed')
  failures.error({ err: refuse(1), loop: 'two' }, 'another line')
  expect(lines).toHaveLength(4)
})

test('a failure is logged in full again after a minute without one', async () => {
  const { lines, logger } = collectLines()
  const failures = limitRepeats(logger, 1)
  failures.warn({ err: refuse(1) }, 'a round failed')
  await eventually(() => {
    failures.warn({ err: refuse(1) }, 'a round failed')
    expect(lines.filter((line) => 'err' in line).length).toBeGreaterThan(1)
  })
})

test('a loop that fails at each round logs one line', async () => {
  const { lines, logger } = collectLines()
  const loops = createLoops(logger)
  let rounds = 0
  loops.run('failing', 1, async () => {
    rounds += 1
    throw new Error(`round ${rounds}`)
  })
  await eventually(() => expect(rounds).toBeGreaterThan(50))
  await loops.stop()
  expect(lines).toHaveLength(1)
})
