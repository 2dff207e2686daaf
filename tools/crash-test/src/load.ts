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

/** A file that was answered 200. */
export interface StoredFile {
  url: string
  text: string
}

/** Another lead could ask for it, and a lead that is lost has no files. */
const NOT_THERE = 404

/**
 * Clients that create leads, each with a key under which they ask again until they are answered 200. One of them attaches a file to each
 * of its leads in the same way.
 */
export const startLoad = ({ base, token }: { base: string; token: string }) => {
  const accepted: string[] = []
  const files: StoredFile[] = []
  /** Answers other than 200, by status; 0 stands for none. */
  const failures = new Map<number, number>()
  const stopping = new AbortController()
  let givenUp = false

  /** The `data` of a success, or the status of what was none. */
  const ask = async <Data>(path: string, key: string, request: RequestInit): Promise<Data | number> => {
    const headers = { ...request.headers, authorization: `Bearer ${token}`, 'idempotency-key': key }
    let status = 0
    try {
      const signal = AbortSignal.timeout(ANSWER_MS)
      const answer = await fetch(`${base}${path}`, { ...request, method: 'POST', headers, signal })
      status = answer.status
      const { data } = (await answer.json()) as { data: Data }
      if (status === 200) return data
    } catch {
      // Unreachable, or gone in the middle of the answer.
      status = 0
    }
    failures.set(status, (failures.get(status) ?? 0) + 1)
    return status
  }
  const askUntilDone = async <Data extends object>(
    path: string,
    body: () => RequestInit,
  ): Promise<Data | undefined> => {
    const key = randomUUID()
    while (!givenUp) {
      const data = await ask<Data>(path, key, body())
      if (typeof data !== 'number') return data
      if (data === NOT_THERE) return undefined
      await pause(AGAIN_MS)
    }
    throw new Error(`POST ${path} was not answered within ${GIVEN_UP_MS} ms after the last kill.`)
  }
  const json = () => ({ headers: { 'content-type': 'application/json' }, body: JSON.stringify(LEAD) })
  const attach = async (reference: string) => {
    const text = `The file of ${reference}`
    const form = () => {
      const body = new FormData()
      body.set('name', 'Survey')
      body.set('file', new Blob([text]), 'survey.txt')
      return { body }
    }
    const file = await askUntilDone<{ url: string }>(`/leads/${reference}/attachments`, form)
    if (file) files.push({ url: file.url, text })
  }
  const work = async (client: number) => {
    while (!stopping.signal.aborted) {
      const lead = await askUntilDone<{ reference: string }>('/leads', json)
      accepted.push(lead!.reference)
      if (client === 0) await attach(lead!.reference)
      await pause(APART_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const workers = Array.from({ length: CLIENTS }, (_, client) => work(client))
  return {
    /** References of the leads that were answered 200. */
    accepted,
    files,
    failures,
    /** Resolves when each lead and file that was asked for is answered 200. Throws when that takes too long. */
    stop: async () => {
      stopping.abort()
      const timer = setTimeout(() => {
        givenUp = true
      }, GIVEN_UP_MS)
      await Promise.all(workers).finally(() => clearTimeout(timer))
    },
  }
}

/** The addresses of files that are not there, byte for byte. */
export const findLostFiles = async ({ token }: { token: string }, files: StoredFile[]): Promise<string[]> => {
  const lost: string[] = []
  for (const { url, text } of files) {
    const answer = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    if ((await answer.text()) !== text) lost.push(url)
  }
  return lost
}
