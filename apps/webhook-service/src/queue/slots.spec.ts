import { createDueEndpoints } from './due-endpoints'
import { createSlots } from './slots'

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

const setUp = ({ concurrency = 16, perEndpoint = 4 } = {}) => {
  const slots = createSlots({ concurrency, perEndpoint, onFree: () => undefined })
  const running: (() => void)[] = []
  /** Starts whatever is allotted; answers with how many each endpoint got. */
  const start = (...due: number[][]) => {
    const rooms = slots.allot(due.map((ofAccount) => [...ofAccount]))
    for (const [id, room] of rooms) for (let i = 0; i < room; i += 1) running.push(slots.start(id))
    return rooms
  }
  return {
    slots,
    running,
    start,
    /** Starts until nothing more may. */
    fill: (...due: number[][]) => {
      while (start(...due).size > 0);
    },
    finishAll: () => {
      for (const finish of running.splice(0)) finish()
    },
  }
}
const pass = (ms: number) => jest.advanceTimersByTime(ms)
const many = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test('an endpoint never has more attempts in flight than its share', () => {
  const { running, fill } = setUp()
  for (let round = 0; round < 20; round += 1) {
    fill([1])
    pass(200)
  }
  expect(running).toHaveLength(4)
})

test('attempts with a slot are bounded, whatever is due, and one that waits leaves its slot', () => {
  const { slots, running, fill } = setUp()
  fill(many(100))
  expect([running.length, slots.inUse()]).toEqual([16, 16])
  pass(100)
  expect(slots.inUse()).toBe(0)
  fill(many(100))
  expect([running.length, slots.inUse()]).toEqual([32, 16])
})

test('one claim takes a part of the slots only', () => {
  const { slots, running, start } = setUp()
  expect(slots.claimable()).toBe(4)
  start(many(100))
  expect(running).toHaveLength(4)
})

test('slots go to accounts, and to the endpoints of one, in rotation', () => {
  const { start } = setUp({ concurrency: 24, perEndpoint: 16 })
  expect([...start(many(100), [200], [300, 301])]).toEqual([
    [1, 1],
    [200, 2],
    [300, 1],
    [2, 1],
    [301, 1],
  ])
})

test('slots rotate between accounts when each claim takes one slot, too', () => {
  const { start, finishAll } = setUp({ concurrency: 1 })
  const due = createDueEndpoints()
  for (const endpointId of many(100)) due.add({ endpointId, accountId: 1, dueAt: 0 })
  due.add({ endpointId: 200, accountId: 2, dueAt: 0 })
  const served = many(4).map(() => {
    const rooms = start(...due.at(0).due.values())
    due.take(rooms)
    finishAll()
    return [...rooms.keys()]
  })
  expect(served).toEqual([[1], [200], [2], [3]])
})

test('a thousand endpoints that hang leave room for one that answers, at every moment', () => {
  const { slots, fill, running, finishAll } = setUp()
  fill([0])
  finishAll()
  const hanging = many(1000)
  for (let tenths = 0; tenths < 100; tenths += 1) {
    expect(slots.allot([[...hanging], [0]]).get(0)).toBeGreaterThan(0)
    fill(hanging)
    if (tenths > 50) expect(slots.allot([[0]]).get(0)).toBeGreaterThan(0)
    pass(100)
  }
  expect(running.length).toBeGreaterThan(16 * 8)
  // So many are slow, and what started before they were.
  expect(running.length).toBeLessThanOrEqual(16 * (8 + 10))
})

test('a hanging endpoint that answers again is slow no more', () => {
  const { slots, fill, start, finishAll } = setUp({ perEndpoint: 16 })
  fill([1])
  pass(5000)
  finishAll()
  fill([1])
  expect(slots.inUse()).toBe(4)
  pass(10)
  finishAll()
  fill([1])
  expect(slots.inUse()).toBe(16)
  expect(start([2]).size).toBe(0)
})
