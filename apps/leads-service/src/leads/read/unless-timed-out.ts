import { type ServiceError, TooBusy } from '@leadwire/service-kit'

/** How long a caller waits that does not say so. */
const DEFAULT_LIMIT_MS = 10_000

/** The deadline of an item that arrived now, in milliseconds since the epoch. */
export const deadlineOf = ({ timeoutMs = DEFAULT_LIMIT_MS }: { timeoutMs?: number | undefined }): number =>
  Date.now() + timeoutMs

/**
 * Does `work` for the items of a batch whose deadlines have not passed, and resolves with the results in the order of all items.
 * The result of an item that timed out is TooBusy: nothing was begun.
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
