import { createSlots, type Running } from './slots'

const setUp = ({ concurrency = 16, perEndpoint = 4 } = {}) => {
  let now = 0
  const slots = createSlots({ concurrency, perEndpoint, now: () => now })
  const running: Running[] = []
  return {
    slots,
    running,
    pass: (ms: number) => {
      now += ms
    },
    /** Starts whatever is allotted; answers with how many each endpoint got. */
    fill: (...due: number[]) => {
      const rooms = slots.allot(due)
      for (const [id, room] of rooms) for (let i = 0; i < room; i += 1) running.push(slots.start(id))
      return rooms
    },
    finishAll: () => {
      for (const each of running.splice(0)) slots.finish(each)
    },
  }
}

test('an endpoint never has more attempts under way than its share', () => {
  const { fill, pass } = setUp()
  let started = 0
  for (let round = 0; round < 10; round += 1) {
    started += fill(1).get(1) ?? 0
    pass(200)
  }
  expect(started).toBe(4)
})

test('attempts at work are bounded, whoever is due', () => {
  const { slots, fill, running } = setUp()
  const many = Array.from({ length: 100 }, (_, id) => id)
  while (fill(...many).size > 0);
  expect(running).toHaveLength(6)
  expect(slots.nextFreeIn()).toBe(100)
})

test('a thousand endpoints that hang leave room for one that answers, at every moment', () => {
  const { slots, fill, pass, running, finishAll } = setUp()
  fill(0)
  finishAll()
  const hanging = Array.from({ length: 1000 }, (_, id) => id + 1)
  for (let tenths = 0; tenths < 100; tenths += 1) {
    while (fill(...hanging).size > 0);
    expect(slots.allot([...hanging, 0]).get(0)).toBeGreaterThan(0)
    pass(100)
  }
  expect(running.length).toBeGreaterThan(100)
  expect(running.length).toBeLessThanOrEqual(16 * 8)
})

test.each([
  ['have answered', true],
  ['have never answered', false],
])("a backlog leaves room for another endpoint's fresh delivery, when both %s", (_, answered) => {
  const { slots, fill, finishAll } = setUp()
  const many = Array.from({ length: 100 }, (_, id) => id + 1)
  for (const id of answered ? [0, ...many] : []) {
    fill(id)
    finishAll()
  }
  while (fill(...many).size > 0);
  expect(slots.take(0, 1)).toHaveLength(1)
})

test('a hanging endpoint that begins to answer is quick again', () => {
  const { fill, pass, finishAll, running } = setUp()
  fill(1)
  pass(5000)
  finishAll()
  fill(1)
  expect(running[0]?.lane).toBe('slow')
  pass(10)
  finishAll()
  fill(1)
  expect(running[0]?.lane).toBe('quick')
})
