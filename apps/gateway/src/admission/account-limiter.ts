import { ProblemError } from '../http/problem'

/** Counts what an account does at once in this copy of the gateway. Resolves to what ends the count of one; throws a 429 beyond `max`. */
export const createAccountLimit = (max: number, what: string) => {
  const open = new Map<number, number>()
  const change = (accountId: number, by: number) => {
    const now = (open.get(accountId) ?? 0) + by
    if (now === 0) open.delete(accountId)
    else open.set(accountId, now)
  }
  return (accountId: number): (() => void) => {
    if ((open.get(accountId) ?? 0) >= max) {
      const detail = `An account may have at most ${max} ${what} at once. Try again when one is done.`
      throw new ProblemError('rate-limited', detail, { 'retry-after': '5' })
    }
    change(accountId, 1)
    return () => change(accountId, -1)
  }
}
