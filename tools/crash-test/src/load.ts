import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

const CLIENTS = 4
const PAUSE_MS = 40
const RETRY_PAUSE_MS = 100
/** How long `stop` lets the clients retry their last requests. */
const GIVE_UP_MS = 60_000
/** The timeout of a request. A request needs one, because a frozen process does not respond. */
const RESPONSE_MS = 12_000

const LEAD = {
  name: 'Bay window',
  first_name: 'Ada',
  last_name: 'Byron',
  email: 'ada@example.com',
  phone: '020 7946 0000',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
}

/** A file whose upload got the response 200. */
export interface StoredFile {
  url: string
  text: string
}

/** The status of an upload to a lead that the system has lost. The client does not retry this upload. */
const NOT_FOUND = 404

/**
 * Starts clients that create leads one after the other. Each create has an idempotency key, and the client
 * retries the create until the response is 200. One client also attaches a file to each of its leads, and
 * retries uploads in the same way.
 */
export const startLoad = ({ base, token }: { base: string; token: string }) => {
  const accepted: string[] = []
  const files: StoredFile[] = []
  /** The number of failed requests by status. 0 means that there was no response. */
  const failures = new Map<number, number>()
  const stopping = new AbortController()
  let hasGivenUp = false

  /** Sends a POST. Returns the `data` of a success, or the status of a failure. */
  const post = async <Data>(path: string, key: string, request: RequestInit): Promise<Data | number> => {
    const headers = { ...request.headers, authorization: `Bearer ${token}`, 'idempotency-key': key }
    let status = 0
    try {
      const signal = AbortSignal.timeout(RESPONSE_MS)
      const response = await fetch(`${base}${path}`, { ...request, method: 'POST', headers, signal })
      status = response.status
      const { data } = (await response.json()) as { data: Data }
      if (status === 200) return data
    } catch {
      // The gateway could not be reached, or the connection ended during the response.
      status = 0
    }
    failures.set(status, (failures.get(status) ?? 0) + 1)
    return status
  }
  /** Retries a POST until it succeeds. Returns undefined if the response is 404. */
  const postUntilDone = async <Data extends object>(
    path: string,
    buildRequest: () => RequestInit,
  ): Promise<Data | undefined> => {
    const key = randomUUID()
    while (!hasGivenUp) {
      const data = await post<Data>(path, key, buildRequest())
      if (typeof data !== 'number') return data
      if (data === NOT_FOUND) return undefined
      await pause(RETRY_PAUSE_MS)
    }
    throw new Error(`POST ${path} did not succeed within ${GIVE_UP_MS} ms after the last hazard.`)
  }
  const buildLead = () => ({
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(LEAD),
  })
  const attachFile = async (reference: string) => {
    const text = `The file of ${reference}`
    const buildForm = () => {
      const body = new FormData()
      body.set('name', 'Survey')
      body.set('file', new Blob([text]), 'survey.txt')
      return { body }
    }
    const file = await postUntilDone<{ url: string }>(`/leads/${reference}/attachments`, buildForm)
    if (file) files.push({ url: file.url, text })
  }
  const runClient = async (client: number) => {
    while (!stopping.signal.aborted) {
      const lead = await postUntilDone<{ reference: string }>('/leads', buildLead)
      accepted.push(lead!.reference)
      if (client === 0) await attachFile(lead!.reference)
      await pause(PAUSE_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
    }
  }
  const clients = Array.from({ length: CLIENTS }, (_, client) => runClient(client))
  return {
    /** References from successful responses to creates. */
    accepted,
    files,
    failures,
    /**
     * Waits until the last request of each client has succeeded. Throws if one of them does not succeed
     * within 60 s.
     */
    stop: async () => {
      stopping.abort()
      const timer = setTimeout(() => {
        hasGivenUp = true
      }, GIVE_UP_MS)
      await Promise.all(clients).finally(() => clearTimeout(timer))
    },
  }
}

/** Downloads the files. Returns the URL of each file that is missing or differs. */
export const findLostFiles = async ({ token }: { token: string }, files: StoredFile[]): Promise<string[]> => {
  const lost: string[] = []
  for (const { url, text } of files) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    if ((await response.text()) !== text) lost.push(url)
  }
  return lost
}
