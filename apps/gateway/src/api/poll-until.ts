import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks again until the answer is complete, or until a time of `performance.now()`. Resolves with the last answer. A single call that
 * waited would end with its connection, which a service closes after 30 s.
 */
export const pollUntil = async <Answer>(
  first: Answer,
  ask: () => Promise<Answer>,
  { isComplete, until, pauseMs }: { isComplete: (answer: Answer) => boolean; until: number; pauseMs: number },
): Promise<Answer> => {
  let answer = first
  while (!isComplete(answer) && performance.now() < until) {
    await pause(pauseMs)
    answer = await ask()
  }
  return answer
}
