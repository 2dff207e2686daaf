import { eventually } from './eventually'

test('eventually returns the first result that is not an error', async () => {
  let calls = 0
  const result = await eventually(
    () => {
      calls += 1
      if (calls < 3) throw new Error('not yet')
      return calls
    },
    { everyMs: 1 },
  )
  expect(result).toBe(3)
})

test('eventually times out with the last error and its description', async () => {
  const never = () => {
    throw new Error('still red')
  }
  const waiting = eventually(never, { timeoutMs: 30, everyMs: 5, describe: 'waiting for green' })
  await expect(waiting).rejects.toThrow('after 30 ms of waiting for green: still red')
})
