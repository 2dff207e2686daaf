/** Returns a sorted copy. */
export const sortNumbers = (values: number[]): Float64Array => Float64Array.from(values).sort()

/**
 * Returns the value below which a share of the sorted values lies (nearest rank). Returns NaN for an empty
 * array.
 */
export const percentile = (ascending: ArrayLike<number>, share: number): number =>
  ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN

export const median = (values: number[]): number => {
  const ascending = sortNumbers(values)
  const middle = ascending.length / 2
  return ascending.length % 2 === 1
    ? ascending[Math.floor(middle)]!
    : (ascending[middle - 1]! + ascending[middle]!) / 2
}

export const sumValues = (values: Record<string, number>): number =>
  Object.values(values).reduce((sum, value) => sum + value, 0)

/** Returns milliseconds since 1970, with fractions. Processes on one machine can compare them. */
export const readWallClock = (): number => performance.timeOrigin + performance.now()
