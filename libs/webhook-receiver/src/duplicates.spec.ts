import { boundedStore, type DuplicateStore, verifyStandard } from './index'
import { bodyOf, headersOf, type Vector, vectors } from './vectors.fixture'

const named = (name: string) => vectors.find((vector) => vector.name === name)!
const lead = vectors[0]!
const check = (vector: Vector, store: DuplicateStore) =>
  verifyStandard(bodyOf(vector), headersOf(vector), vector.secret, {
    now: new Date(vector.now * 1000),
    store,
  })

it('accepts an id once, and again when it was forgotten', async () => {
  const store = boundedStore()
  expect(await check(lead, store)).toMatchObject({ ok: true, id: lead.id })
  expect(await check(lead, store)).toMatchObject({ ok: false, code: 'duplicate', header: 'webhook-id' })
  store.forget(lead.id!)
  expect(await check(lead, store)).toMatchObject({ ok: true })
})

it('finds a retry, which has another timestamp, by its id', async () => {
  const store = boundedStore()
  expect(await check(named('five minutes old to the second'), store)).toMatchObject({ ok: true })
  expect(await check(lead, store)).toMatchObject({ code: 'duplicate' })
})

it.each([
  'another body',
  'another timestamp',
  'a second too old',
  'an empty body',
])('remembers nothing of a request that is refused: %s', async (name) => {
  const store = boundedStore()
  expect(await check(named(name), store)).toMatchObject({ ok: false })
  expect(await check(lead, store)).toMatchObject({ ok: true })
})

it('takes a store elsewhere, gives it a day, and passes on what it throws', async () => {
  const asked: [string, number][] = []
  const remember = async (id: string, ttlSeconds: number) => asked.push([id, ttlSeconds]) === 1
  expect(await check(lead, { remember })).toMatchObject({ ok: true })
  expect(await check(lead, { remember })).toMatchObject({ code: 'duplicate' })
  expect(asked).toEqual([
    [lead.id, 86_400],
    [lead.id, 86_400],
  ])
  const unavailable = { remember: () => Promise.reject(new Error('the store is unavailable')) }
  await expect(check(lead, unavailable)).rejects.toThrow('the store is unavailable')
})

it('of two requests at once accepts one', async () => {
  const store = boundedStore()
  const both = await Promise.all([check(lead, store), check(lead, store)])
  expect(both.filter(({ ok }) => ok)).toHaveLength(1)
})

it('remembers for as long as it was told', () => {
  let time = 0
  const store = boundedStore({ now: () => new Date(time) })
  expect(store.remember('a', 60)).toBe(true)
  time = 59_999
  expect(store.remember('a', 60)).toBe(false)
  time = 60_000
  expect(store.remember('a', 60)).toBe(true)
})

it('holds no more than it may: the oldest makes room', () => {
  const store = boundedStore({ maxIds: 2 })
  expect(['a', 'b', 'c'].map((id) => store.remember(id, 60))).toEqual([true, true, true])
  expect(['c', 'b'].map((id) => store.remember(id, 60))).toEqual([false, false])
  expect(store.remember('a', 60)).toBe(true)
  expect(store.remember('b', 60)).toBe(true)
  expect(() => boundedStore({ maxIds: 0 })).toThrow(TypeError)
})
