import { boundedStore } from './index'

const nothing = () => undefined

/** Makes work that lasts until the spec calls `end` or `fail`. */
const held = () => {
  let [end, fail] = [nothing as () => void, nothing as (error: Error) => void]
  const done = new Promise<void>((resolve, reject) => {
    end = resolve
    fail = reject
  })
  return { work: () => done, end: () => end(), fail: (error: Error) => fail(error) }
}

it('does the work for an event once', async () => {
  const store = boundedStore()
  const work = jest.fn()
  expect(await store.once('a', work)).toBe('kept')
  expect(await store.once('a', work)).toBe('duplicate')
  expect(work).toHaveBeenCalledTimes(1)
  expect(await store.once('b', work)).toBe('kept')
})

it('reports an event whose work is in progress', async () => {
  const store = boundedStore()
  const { work, end } = held()
  const first = store.once('a', work)
  expect(await store.once('a', nothing)).toBe('in_progress')
  end()
  expect(await first).toBe('kept')
  expect(await store.once('a', nothing)).toBe('duplicate')
})

it('rejects with the error of the work, and does not remember the event', async () => {
  const store = boundedStore()
  const { work, fail } = held()
  const first = store.once('a', work)
  fail(new Error('not kept'))
  await expect(first).rejects.toThrow('not kept')
  const throwing = () => {
    throw new Error('not kept either')
  }
  await expect(store.once('a', throwing)).rejects.toThrow('not kept either')
  expect(await store.once('a', nothing)).toBe('kept')
})

it('remembers an event for the configured time, from the end of the work', async () => {
  let time = 0
  const store = boundedStore({ rememberSeconds: 60, now: () => new Date(time) })
  await store.once('a', () => {
    time = 1000
  })
  time = 60_999
  expect(await store.once('a', nothing)).toBe('duplicate')
  time = 61_000
  expect(await store.once('a', nothing)).toBe('kept')
})

it('forgets the oldest event when it is full', async () => {
  const store = boundedStore({ maxIds: 2 })
  for (const id of ['a', 'b', 'c']) expect(await store.once(id, nothing)).toBe('kept')
  for (const id of ['c', 'b']) expect(await store.once(id, nothing)).toBe('duplicate')
  expect(await store.once('a', nothing)).toBe('kept')
  expect(() => boundedStore({ maxIds: 0 })).toThrow(TypeError)
})
