import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

const CLIENTS = 4
const APART_MS = 40
const AGAIN_MS = 100
/** For so long creates that are on their way are asked again at the end. */
const GIVEN_UP_MS = 60_000
/** A frozen process answers nothing. */
const ANSWER_MS = 12_000

const LEAD = {
  ...{ name: 'Bay window', first_name: 'Ada', last_name: 'Byron', email: 'ada@example.com' },
  ...{ phone: '020 7946 0000', postcode: 'SW1A 1AA', referrer: 'Website', status: 'open' },
}

/** Clients that create leads, each with a key under which they ask again until they are answered 200. */
export const startLoad = ({ base, token }: { base: string; token: string }) => {
  const accepted: string[] = []
  /** Answers other than 200, by status; 0 stands for none. */
  const failures = new Map<number, number>()
  const stopping = new AbortController()
  let givenUp = false

  const ask = async (key: string): Promise<string | undefined> => {
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'idempotency-key': key,
    }
    let status = 0
    try {
      const request = { method: 'POST', headers, body: JSON.stringify(LEAD) }
      const answer = await fetch(`${base}/leads`, { ...request, signal: AbortSignal.timeout(ANSWER_MS) })
      status = answer.status
      const body = (await answer.json()) as { data?: { reference: string } }
      if (status === 200) return body.data!.reference
    } catch {
      // Unreachable, or gone in the middle of the answer.
      status = 0
    }
    failures.set(status, (failures.get(status) ?? 0) + 1)
    return undefined
  }
  const createOne = async () => {
    const key = randomUUID()
    while (!givenUp) {
      const reference = await ask(key)
      if (reference !== undefined) return accepted.push(reference)
      await pause(AGAIN_MS)
    }
    throw new Error(`A create was not answered within ${GIVEN_UP_MS} ms after the last kill.`)
  }
  const work = async () => {
    while (!stopping.signal.aborted) {
      await createOne()
      await pause(APART_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const workers = Array.from({ length: CLIENTS }, work)
  return {
    /** References of the leads that were answered 200. */
    accepted,
    failures,
    /** Resolves when each lead that was asked for is answered 200. Throws when that takes too long. */
    stop: async () => {
      stopping.abort()
      const timer = setTimeout(() => {
        givenUp = true
      }, GIVEN_UP_MS)
      await Promise.all(workers).finally(() => clearTimeout(timer))
    },
  }
}
