/**
 * @typedef {{id: number, url: string, description: string | null, enabled: boolean, created_at: string, updated_at: string}} Endpoint
 * @typedef {{hour: string, succeeded: number, failed: number}} Hour
 * @typedef {{endpoint_id: number, last_success_at: string | null, pending: number, held: number, exhausted: number, hours: Hour[]}} Health
 * @typedef {Endpoint & {health: Health}} WatchedEndpoint
 * @typedef {{id: number, endpoint_id: number, event_id: string, lead_reference: string, status: string, attempt_count: number, next_attempt_at: string | null, created_at: string, updated_at: string}} Delivery
 * @typedef {{number: number, started_at: string, duration_ms: number, status: number | null, error: string | null, response: string | null}} Attempt
 * @typedef {Record<string, string[]>} Faults By the field they are about.
 * @typedef {{current_page: number, data: Delivery[], from: number | null, to: number | null, total: number, last_page: number}} Page
 */

const KEPT_AS = 'leadwire.token'
const LATE_MS = 20_000

/** The token lives in this tab alone and ends with it. */
export const token = {
  read: () => sessionStorage.getItem(KEPT_AS),
  /** @param {string} text */
  keep: (text) => sessionStorage.setItem(KEPT_AS, text),
  forget: () => sessionStorage.removeItem(KEPT_AS),
}

/** What went wrong, in the words of the gateway's problem document where there is one. */
export class Problem extends Error {
  /** @param {number} status 0: no answer. @param {string} title @param {string} detail @param {Faults} [faults] */
  constructor(status, title, detail, faults = {}) {
    super(detail)
    this.status = status
    this.title = title
    this.faults = faults
  }
}

/** @param {Response} response */
const problemOf = async (response) => {
  const { title, detail, errors } = await response.json().catch(() => ({}))
  const faults = errors && Object.values(/** @type {Faults} */ (errors)).flat()
  const told = faults?.join(' ') || detail || 'The gateway did not say why.'
  return new Problem(response.status, title ?? `Status ${response.status}`, told, errors)
}

/**
 * Calls a /manage operation with the tab's token.
 * @param {string} method @param {string} path Below /manage. @param {{body?: object, signal?: AbortSignal}} [options]
 * @throws {Problem} for every answer but 2xx, and when there is none
 */
export const call = async (method, path, { body, signal } = {}) => {
  const late = AbortSignal.timeout(LATE_MS)
  // Beside this file's own address, so that the console also works below a path of a proxy.
  const address = new URL(`../manage/${path}`, import.meta.url)
  try {
    const response = await fetch(address, {
      method,
      headers: {
        authorization: `Bearer ${token.read()}`,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, late]) : late,
      cache: 'no-store',
      credentials: 'omit',
    })
    if (!response.ok) throw await problemOf(response)
    return await response.json()
  } catch (error) {
    if (error instanceof Problem || signal?.aborted) throw error
    throw late.aborted
      ? new Problem(0, 'No answer', `The gateway did not answer within ${LATE_MS / 1000} seconds.`)
      : new Problem(0, 'Out of reach', 'The gateway could not be reached.')
  }
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => call('GET', path, { signal })

/** Every endpoint with its health, oldest first. @param {AbortSignal} [signal] @returns {Promise<WatchedEndpoint[]>} */
export const listEndpoints = async (signal) => {
  const [endpoints, health] = await Promise.all([
    get('webhook-endpoints', signal),
    get('webhook-endpoint-health', signal),
  ])
  const byId = new Map(health.data.map((/** @type {Health} */ one) => [one.endpoint_id, one]))
  // One that was made between the two answers has no health yet.
  const none = { last_success_at: null, pending: 0, held: 0, exhausted: 0, hours: [] }
  return endpoints.data.map((/** @type {Endpoint} */ endpoint) => ({
    ...endpoint,
    health: byId.get(endpoint.id) ?? { ...none, endpoint_id: endpoint.id },
  }))
}
