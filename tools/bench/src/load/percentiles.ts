import type { Latency } from './jobs'

/** The value below which a share of the sorted values lies (nearest rank); NaN of none. */
export function percentile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN
}

export function latencyOf(milliseconds: number[]): Latency {
  const sorted = Float64Array.from(milliseconds).sort()
  return {
    p50: percentile(sorted, 0.5),
    p90: percentile(sorted, 0.9),
    p99: percentile(sorted, 0.99),
    max: percentile(sorted, 1),
  }
}

export function median(values: number[]): number {
  const sorted = Float64Array.from(values).sort()
  const middle = sorted.length / 2
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}
