import { type ServiceError, TooBusy } from '../errors/service-error'

/** How long the caller of an item that does not say so will wait, in milliseconds. */
const DEFAULT_LIMIT_MS = 10_000

/** The deadline of an item that has just arrived, in milliseconds since the epoch. */
export const deadlineOf = ({ timeoutMs = DEFAULT_LIMIT_MS }: { timeoutMs?: number | undefined }): number =>
  Date.now() + timeoutMs

/**
 * Has `work` done for the items of a batch whose deadlines have not passed; the others are refused as unavailable, because nothing
 * of them was begun. Answers in the order of the items, as `work` does for those it is given.
 */
export const unlessTimedOut = async <Item, Result>(
  items: Item[],
  deadlines: number[],
  work: (items: Item[]) => Promise<Result[]>,
): Promise<(Result | ServiceError)[]> => {
  const now = Date.now()
  const inTime = items.filter((_, index) => deadlines[index]! > now)
  const results = inTime.length > 0 ? await work(inTime) : []
  let next = 0
  return deadlines.map((deadline) => (deadline > now ? results[next++]! : new TooBusy()))
}
