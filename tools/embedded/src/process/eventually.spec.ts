import { eventually } from './eventually'

test('eventually answers with the first answer that is no error', async () => {
  let calls = 0
  const answer = await eventually(
    () => {
      if (++calls < 3) throw new Error('not yet')
      return calls
    },
    { everyMs: 1 },
  )
  expect(answer).toBe(3)
})

test('eventually gives up with the last error and what was waited for', async () => {
  const never = () => {
    throw new Error('still red')
  }
  const waiting = eventually(never, { timeoutMs: 30, everyMs: 5, describe: 'waiting for green' })
  await expect(waiting).rejects.toThrow('after 30 ms of waiting for green: still red')
})
