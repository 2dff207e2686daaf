import { newEventId } from './new-event-id'

test('an event id is a UUID of version 7 that begins with its time', () => {
  expect(newEventId(Date.parse('2022-02-22T19:22:22Z'))).toMatch(
    /^017f22e2-79b0-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  expect(newEventId(0)).toMatch(/^00000000-0000-7/)
})

test('ids grow from one millisecond to the next, and ids of one millisecond differ', () => {
  const ids = Array.from({ length: 1000 }, (_, at) => newEventId(Math.floor(at / 10)))
  expect(new Set(ids).size).toBe(1000)
  const times = ids.map((id) => id.slice(0, 13))
  expect(times).toEqual(times.toSorted())
})
