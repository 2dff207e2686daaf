import { createMetrics } from '../process/metrics'
import { createBatcher } from './batcher'
import { createBatcherMeters } from './queue-meters'

/** Makes a `send` that responds to a batch when the spec says so. */
const heldSend = () => {
  const batches: { items: string[]; answer: (results?: string[]) => void; fail: (error: Error) => void }[] =
    []
  const send = (items: string[]) =>
    new Promise<string[]>((resolve, reject) => {
      const answer = (results = items.map((item) => item.toUpperCase())) => resolve(results)
      batches.push({ items, answer, fail: reject })
    })
  return { batches, send }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

const batched = (over: Partial<Parameters<typeof createBatcher<string, string>>[0]> = {}) => {
  const { batches, send } = heldSend()
  return { batches, call: createBatcher({ send, maxBatch: 3, maxInFlight: 1, maxQueued: 5, ...over }) }
}

test('a lone item leaves at once, and what arrives meanwhile leaves together', async () => {
  const { batches, call } = batched()
  const first = call('a')
  await turn()
  const others = [call('b'), call('c')]
  await turn()
  expect(batches.map(({ items }) => items)).toEqual([['a']])
  batches[0]!.answer()
  expect(await first).toBe('A')
  await turn()
  expect(batches.map(({ items }) => items)).toEqual([['a'], ['b', 'c']])
  batches[1]!.answer()
  expect(await Promise.all(others)).toEqual(['B', 'C'])
})

test('what one caller hands over in a loop leaves in full batches', async () => {
  const { batches, call } = batched({ maxInFlight: 2 })
  void ['a', 'b', 'c', 'd'].map((item) => call(item))
  await turn()
  expect(batches.map(({ items }) => items)).toEqual([['a', 'b', 'c'], ['d']])
})

test('a batch ends before its cost would exceed the bound, and what alone costs more goes alone', async () => {
  const { batches, call } = batched({
    maxBatch: 4,
    maxInFlight: 9,
    maxQueued: 99,
    computeCost: (item) => item.length,
    maxBatchCost: 5,
  })
  void ['aa', 'bbb', 'c', 'dddddddd', 'e', 'f', 'g', 'h', 'i'].map((item) => call(item))
  await turn()
  expect(batches.map(({ items }) => items)).toEqual([
    ['aa', 'bbb'],
    ['c'],
    ['dddddddd'],
    ['e', 'f', 'g', 'h'],
    ['i'],
  ])
})

test('a failing batch rejects its own items and no others', async () => {
  const { batches, call } = batched()
  const first = call('a')
  await turn()
  const second = call('b')
  batches[0]!.fail(new Error('lost'))
  await expect(first).rejects.toThrow('lost')
  await turn()
  batches[1]!.answer()
  expect(await second).toBe('B')
})

test('too few results are an error, never a mix-up', async () => {
  const { batches, call } = batched()
  const calls = [call('a'), call('b')]
  await turn()
  batches[0]!.answer(['A'])
  for (const one of calls) await expect(one).rejects.toMatchObject({ code: 'internal' })
})

const inAMinute = () => new Date(Date.now() + 60_000)

test('an item whose caller has gone is not sent, and its neighbours are', async () => {
  const { batches, call } = batched()
  void call('in flight')
  await turn()
  let gone = false
  const waiting = call('a', { deadline: inAMinute(), isGone: () => gone })
  const neighbour = call('b', { deadline: inAMinute(), isGone: () => false })
  gone = true
  batches[0]!.answer()
  await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
  await turn()
  expect(batches[1]!.items).toEqual(['b'])
  batches[1]!.answer()
  expect(await neighbour).toBe('B')
})

test('after its own deadline an item in flight times out, a waiting one is refused, and others are answered', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
  try {
    const { batches, call } = batched()
    const soon = { deadline: new Date(Date.now() + 5), isGone: () => false }
    const sent = call('a', soon)
    const neighbour = call('b', { deadline: inAMinute(), isGone: () => false })
    await turn()
    const waiting = call('c', soon)
    jest.advanceTimersByTime(5)
    await expect(sent).rejects.toMatchObject({ code: 'late' })
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    batches[0]!.answer()
    expect(await neighbour).toBe('B')
    await turn()
    expect(batches).toHaveLength(1)
  } finally {
    jest.useRealTimers()
  }
})

test('an item that is not sent for a while is refused long before its deadline; one in flight is not', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] })
  try {
    const { batches, call } = batched({ maxWaitMs: 100 })
    const limits = { deadline: new Date(Date.now() + 1000), isGone: () => false }
    const sent = call('a', limits)
    await turn()
    const waiting = call('b', limits)
    jest.advanceTimersByTime(100)
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    jest.advanceTimersByTime(899)
    batches[0]!.answer()
    expect(await sent).toBe('A')
    await turn()
    expect(batches).toHaveLength(1)
  } finally {
    jest.useRealTimers()
  }
})

test('send gets the deadline of each item', async () => {
  const told: number[][] = []
  const call = createBatcher<string, string>({
    send: async (items, deadlines) => {
      told.push(deadlines)
      return items
    },
    maxBatch: 3,
    maxInFlight: 1,
    maxQueued: 5,
  })
  const deadline = inAMinute()
  await Promise.all([call('a', { deadline, isGone: () => false }), call('b')])
  expect(told).toEqual([[deadline.getTime(), Number.POSITIVE_INFINITY]])
})

test('beyond the bound an item is refused as unavailable', async () => {
  const { call } = batched()
  void call('in flight')
  await turn()
  void Array.from({ length: 5 }, () => call('waiting'))
  await expect(call('too many')).rejects.toMatchObject({ code: 'unavailable' })
})

test('a batch takes one from each queue in turn, and a queue that must wait comes first in the next', async () => {
  const cost = (item: string) => (item.length > 1 ? 5 : 1)
  const { batches, call } = batched({
    maxBatch: 9,
    maxBatchCost: 10,
    maxQueued: 20,
    computeCost: cost,
    findQueue: (item) => item[0],
  })
  const calls = ['x', 'a-1', 'a-2', 'a-3', 'b1', 'c', 'd', 'c'].map((item) => call(item))
  await turn()
  batches[0]!.answer()
  await turn()
  batches[1]!.answer()
  await turn()
  batches[2]!.answer()
  await Promise.all(calls)
  expect(batches.map(({ items }) => items)).toEqual([['x', 'a-1', 'c', 'd', 'c'], ['b1', 'a-2'], ['a-3']])
})

test('a queue that is full refuses its own items alone', async () => {
  const { batches, call } = batched({ maxQueued: 4, findQueue: (item) => item[0] })
  void call('first')
  await turn()
  const waiting = [call('a1'), call('a2')]
  await expect(call('a3')).rejects.toMatchObject({ code: 'unavailable' })
  const other = call('b1')
  batches[0]!.answer()
  await turn()
  batches[1]!.answer()
  expect(await Promise.all([...waiting, other])).toEqual(['A1', 'A2', 'B1'])
})

test('the meter counts what waits, what left in one batch and what was refused', async () => {
  const metrics = createMetrics('spec')
  const { batches, call } = batched({ maxQueued: 2, meter: createBatcherMeters(metrics)('things') })
  const first = call('a')
  await turn()
  const others = [call('b'), call('c')]
  await expect(call('d')).rejects.toMatchObject({ code: 'unavailable' })
  const labels = '{batcher="things",service="spec"}'
  const told = await metrics.metrics()
  expect(told).toContain(`leadwire_batch_waiting${labels} 2\n`)
  expect(told).toContain(`leadwire_batch_refused_total${labels} 1\n`)
  batches[0]!.answer()
  await first
  await turn()
  batches[1]!.answer()
  await Promise.all(others)
  expect(await metrics.metrics()).toContain('leadwire_batch_items_sum{service="spec",batcher="things"} 3\n')
})
