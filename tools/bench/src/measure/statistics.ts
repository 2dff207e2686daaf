export const sorted = (values: number[]): Float64Array => Float64Array.from(values).sort()

/** The value below which a share of the sorted values lies (nearest rank); NaN of none. */
export const percentile = (ascending: ArrayLike<number>, share: number): number =>
  ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? Number.NaN

export const median = (values: number[]): number => {
  const ascending = sorted(values)
  const middle = ascending.length / 2
  return ascending.length % 2 === 1
    ? ascending[Math.floor(middle)]!
    : (ascending[middle - 1]! + ascending[middle]!) / 2
}

export const totalOf = (values: Record<string, number>): number =>
  Object.values(values).reduce((sum, value) => sum + value, 0)

/** A point in time, comparable between the processes of one machine: milliseconds since 1970, with fractions. */
export const wallClock = (): number => performance.timeOrigin + performance.now()
