import { setTimeout as pause } from 'node:timers/promises'

/**
 * Calls `ask` repeatedly until `isComplete` accepts a result, or until `performance.now()` reaches `until`.
 * Resolves with the last result. Makes no call if `first` is complete, and resolves with `first`.
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
