import { boundedStore } from './index'

const nothing = () => undefined

/** Work that ends when the spec says so. */
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

it('knows no event whose work is in progress', async () => {
  const store = boundedStore()
  const { work, end } = held()
  const first = store.once('a', work)
  expect(await store.once('a', nothing)).toBe('in_progress')
  end()
  expect(await first).toBe('kept')
  expect(await store.once('a', nothing)).toBe('duplicate')
})

it('passes on what the work throws, and remembers nothing of it', async () => {
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

it('remembers for as long as it was told, from the end of the work', async () => {
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

it('holds no more than it may: the oldest makes room', async () => {
  const store = boundedStore({ maxIds: 2 })
  for (const id of ['a', 'b', 'c']) expect(await store.once(id, nothing)).toBe('kept')
  for (const id of ['c', 'b']) expect(await store.once(id, nothing)).toBe('duplicate')
  expect(await store.once('a', nothing)).toBe('kept')
  expect(() => boundedStore({ maxIds: 0 })).toThrow(TypeError)
})
