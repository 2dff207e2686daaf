import type { Answers } from './jobs'
import { percentile } from './percentiles'
import type { Arrivals } from './start-receiver'

/**
 * Milliseconds from the answer to each create to the first arrival of its webhook, sorted. `missing` never came.
 * `only` picks the arrivals at some paths.
 */
export function matchArrivals(
  answers: Answers,
  arrivals: Arrivals,
  only: (path: string) => boolean = () => true,
): { waits: Float64Array; missing: number } {
  const answeredAt = new Map(answers.references.map((reference, index) => [reference, answers.at[index]!]))
  const waits: number[] = []
  arrivals.keys.forEach((key, index) => {
    const [path, reference] = key.split(' ') as [string, string]
    const at = answeredAt.get(reference)
    if (at === undefined || !only(path)) return
    answeredAt.delete(reference)
    waits.push(arrivals.at[index]! - at)
  })
  return { waits: Float64Array.from(waits).sort(), missing: answeredAt.size }
}

export const p50 = (waits: ArrayLike<number>): number => percentile(waits, 0.5)
export const p99 = (waits: ArrayLike<number>): number => percentile(waits, 0.99)
