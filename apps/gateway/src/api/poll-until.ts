import { setTimeout as pause } from 'node:timers/promises'

/**
 * Calls `ask` repeatedly until a result is complete (`isComplete`), or until `performance.now()` reaches
 * `until`. Resolves with the last result, or with `first` if `first` is complete.
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
