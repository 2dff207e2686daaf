import { createDueEndpoints } from './due-endpoints'
import { createSlots } from './slots'

beforeEach(() => jest.useFakeTimers())
afterEach(() => jest.useRealTimers())

const setUp = ({ concurrency = 16, perEndpoint = 4 } = {}) => {
  const slots = createSlots({ concurrency, perEndpoint, onFree: () => undefined })
  const running: ((hasFailed: boolean | undefined) => void)[] = []
  /** Starts all allotted attempts. Returns the number of started attempts of each endpoint. */
  const start = (...due: number[][]) => {
    const rooms = slots.allot(due.map((ofAccount) => [...ofAccount]))
    for (const [id, room] of rooms) for (let i = 0; i < room; i += 1) running.push(slots.start(id))
    return rooms
  }
  return {
    slots,
    running,
    start,
    /** Starts attempts until no more may start. */
    fill: (...due: number[][]) => {
      while (start(...due).size > 0);
    },
    finishAll: (hasFailed = false) => {
      for (const finish of running.splice(0)) finish(hasFailed)
    },
  }
}
const pass = (ms: number) => jest.advanceTimersByTime(ms)
const many = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

test('an endpoint never has more attempts in flight than its limit', () => {
  const { running, fill } = setUp()
  for (let round = 0; round < 20; round += 1) {
    fill([1])
    pass(200)
  }
  expect(running).toHaveLength(4)
})

test('attempts with a slot are limited, and an attempt that waits gives its slot back', () => {
  const { slots, running, fill } = setUp()
  fill(many(100))
  expect([running.length, slots.inUse()]).toEqual([16, 16])
  pass(100)
  expect(slots.inUse()).toBe(0)
  fill(many(100))
  expect([running.length, slots.inUse()]).toEqual([32, 16])
})

test('one claim takes only a part of the slots', () => {
  const { slots, running, start } = setUp()
  expect(slots.claimable()).toBe(4)
  start(many(100))
  expect(running).toHaveLength(4)
})

test('slots are assigned round-robin to accounts, and to the endpoints of each account', () => {
  const { start } = setUp({ concurrency: 24, perEndpoint: 16 })
  expect([...start(many(100), [200], [300, 301])]).toEqual([
    [1, 1],
    [200, 2],
    [300, 1],
    [2, 1],
    [301, 1],
  ])
})

test('accounts get slots in turn, even if each claim takes one slot', () => {
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

test('a thousand hanging endpoints always leave room for one that responds', () => {
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
  // The limit is 8 slow attempts for each of the 16 slots. In addition, each slot can start 10 attempts (one
  // every 100 ms) in the second before an attempt counts as slow.
  expect(running.length).toBeLessThanOrEqual(16 * (8 + 10))
})

test('a hanging endpoint that responds again is no longer slow', () => {
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

test('healthy endpoints start first, and a quarter of the starts is reserved for failing ones', () => {
  const { slots, start, finishAll } = setUp({ concurrency: 32 })
  const failing = many(80)
  while (failing.some((id) => !slots.isFailing(id))) {
    start(failing.filter((id) => !slots.isFailing(id)))
    finishAll(true)
  }
  const healthy = [101, 102, 103, 104, 105, 106]
  const rooms = start([...failing, ...healthy])
  expect([...rooms.keys()].slice(0, 6)).toEqual(healthy)
  expect([...rooms.keys()].filter((id) => failing.includes(id))).toHaveLength(2)
})

test('an attempt that does not count leaves its endpoint healthy or failing', () => {
  const { slots } = setUp()
  slots.start(1)(true)
  slots.start(1)(undefined)
  slots.start(2)(false)
  slots.start(2)(undefined)
  expect([slots.isFailing(1), slots.isFailing(2)]).toEqual([true, false])
})

test('failing endpoints get a quarter of the starts, even if each claim takes one slot', () => {
  const { start, finishAll } = setUp({ concurrency: 1 })
  start([1])
  finishAll(true)
  const served = many(8).map(() => {
    const [id] = start([1, 2]).keys()
    finishAll(id === 1)
    return id
  })
  expect(served.filter((id) => id === 1)).toHaveLength(2)
})
