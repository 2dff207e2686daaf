import { createMetrics } from '../process/metrics'
import { createBatcherMeters } from '../queues/queue-meters'
import { createFairQueue } from './fair-queue'

const BUSY = { code: 'unavailable' }

beforeEach(() => jest.useFakeTimers({ doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] }))
afterEach(() => jest.useRealTimers())

/**
 * Makes a queue with a capacity of 8. Accounts have equal shares, and one share is kept free for the next
 * account. Work waits for at most 100 ms.
 */
const scene = (over: Partial<Parameters<typeof createFairQueue>[0]> = {}) => {
  const turns = createFairQueue({
    computeShare: (accounts) => 8 / (accounts + 1),
    capacity: 8,
    maxWaiting: 100,
    maxWaitMs: 100,
    ...over,
  })
  const inside: string[] = []
  const left = new Map<number, () => void>()
  const enter = async (account: number, name: string, cost = 1) => {
    left.set(account, await turns(account, cost))
    inside.push(name)
  }
  const leave = (account: number) => left.get(account)!()
  const settle = () => new Promise((resolve) => setImmediate(resolve))
  return { inside, enter, leave, settle }
}

test('an account has its share, a further account finds room, and waiting work is admitted when other work is done', async () => {
  const { inside, enter, leave, settle } = scene()
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5', 'a6']) void enter(1, name)
  void enter(2, 'b1')
  await settle()
  expect(inside).toEqual(['a1', 'a2', 'a3', 'a4', 'b1'])
  leave(2)
  await settle()
  expect(inside).toHaveLength(5)
  leave(1)
  await settle()
  expect(inside).toEqual(['a1', 'a2', 'a3', 'a4', 'b1', 'a5'])
})

test('waiting accounts are admitted in turn', async () => {
  const { inside, enter, leave, settle } = scene({ computeShare: () => 8 })
  void enter(1, 'all', 8)
  for (const name of ['a1', 'a2', 'a3']) void enter(1, name)
  void enter(2, 'b1')
  void enter(2, 'b2')
  await settle()
  leave(1)
  await settle()
  expect(inside).toEqual(['all', 'a1', 'b1', 'a2', 'b2', 'a3'])
})

test('what costs more than there is comes in alone', async () => {
  const { inside, enter, leave, settle } = scene()
  void enter(1, 'large', 20)
  void enter(1, 'small')
  void enter(2, 'other')
  await settle()
  expect(inside).toEqual(['large'])
  leave(1)
  await settle()
  expect(inside).toEqual(['large', 'small', 'other'])
})

test('who waits too long is refused, and leaves nothing behind', async () => {
  const { inside, enter, leave, settle } = scene()
  void enter(1, 'large', 8)
  const other = enter(2, 'other', 8)
  jest.advanceTimersByTime(100)
  await expect(other).rejects.toMatchObject(BUSY)
  leave(1)
  // An account that is alone again has half of the capacity.
  for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) void enter(1, name)
  await settle()
  expect(inside).toEqual(['large', 'a1', 'a2', 'a3', 'a4'])
})

test('beyond its share of those that may wait an account is refused at once, and no other is', async () => {
  const metrics = createMetrics('spec')
  const { enter, leave, settle, inside } = scene({
    computeShare: () => 1,
    capacity: 1,
    maxWaiting: 4,
    meter: createBatcherMeters(metrics)('request'),
  })
  void enter(1, 'a1')
  const waiting = [enter(1, 'a2'), enter(1, 'a3')]
  await expect(enter(1, 'a4')).rejects.toMatchObject(BUSY)
  waiting.push(enter(2, 'b1'))
  const labels = '{batcher="request",service="spec"}'
  expect(await metrics.metrics()).toContain(`leadwire_batch_waiting${labels} 3\n`)
  expect(await metrics.metrics()).toContain(`leadwire_batch_refused_total${labels} 1\n`)
  for (const account of [1, 1, 2]) {
    leave(account)
    await settle()
  }
  await Promise.all(waiting)
  expect(inside).toHaveLength(4)
})
