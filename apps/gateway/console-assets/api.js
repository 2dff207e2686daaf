import { createLeadwire, LeadwireProblem } from './client.js'

/**
 * @typedef {import('./client.js').components['schemas']} Schemas
 * @typedef {Schemas['WebhookEndpoint']} Endpoint
 * @typedef {Schemas['WebhookEndpointHour']} Hour
 * @typedef {Schemas['WebhookEndpointHealth']} Health
 * @typedef {Endpoint & {health: Health}} WatchedEndpoint
 * @typedef {Schemas['Delivery']} Delivery
 * @typedef {Schemas['Attempt']} Attempt
 * @typedef {Required<Schemas['DeliveryPage']>} Page A list without a cursor has all fields.
 * @typedef {Record<string, string[]>} FieldErrors By the field they are about.
 */

export { LeadwireProblem as Problem } from './client.js'

const KEPT_AS = 'leadwire.token'

/** The token lives in this tab alone and ends with it. */
export const token = {
  read: () => sessionStorage.getItem(KEPT_AS),
  /** @param {string} text */
  keep: (text) => sessionStorage.setItem(KEPT_AS, text),
  forget: () => sessionStorage.removeItem(KEPT_AS),
}

/** A problem that the console itself has. @param {number} status @param {string} title @param {string} detail */
export const ownProblem = (status, title, detail) => new LeadwireProblem(status, { title, detail })

/** The errors of the fields of a problem, else its message. @param {LeadwireProblem} problem */
export const textOf = (problem) => Object.values(problem.errors).flat().join(' ') || problem.message

/** @type {typeof fetch} */
const send = (input, init) => fetch(input, { ...init, cache: 'no-store', credentials: 'omit' })

/** The API, with the tab's token. Every operation throws LeadwireProblem for an error response. */
export const api = () =>
  createLeadwire({
    // Beside this file's own address, so that the console also works below a path of a proxy.
    baseUrl: new URL('..', import.meta.url).href,
    token: token.read() ?? '',
    fetch: send,
    // The reader tries again.
    retries: 0,
  }).api

/** What the API answered. @template Data @param {Promise<{data?: Data}>} answer @returns {Promise<Data>} */
export const dataOf = async (answer) => /** @type {Data} */ ((await answer).data)

/** @param {AbortSignal} signal */
export const listEndpoints = async (signal) =>
  (await dataOf(api().GET('/manage/webhook-endpoints', { signal }))).data

/** The deliveries that a query of the page asks for. @param {URLSearchParams} asked @param {AbortSignal} signal */
export const listDeliveries = async (asked, signal) => {
  // The API refuses unknown filters and values.
  const query = /** @type {object} */ (Object.fromEntries(asked))
  return /** @type {Page} */ (await dataOf(api().GET('/manage/deliveries', { params: { query }, signal })))
}

/** Every endpoint with its health, oldest first. @param {AbortSignal} signal @returns {Promise<WatchedEndpoint[]>} */
export const watchEndpoints = async (signal) => {
  const [endpoints, health] = await Promise.all([
    listEndpoints(signal),
    dataOf(api().GET('/manage/webhook-endpoint-health', { signal })),
  ])
  const byId = new Map(health.data.map((one) => [one.endpoint_id, one]))
  // One that was made between the two answers has no health yet.
  const none = { last_success_at: null, pending: 0, held: 0, exhausted: 0, hours: [] }
  return endpoints.map((endpoint) => ({
    ...endpoint,
    health: byId.get(endpoint.id) ?? { ...none, endpoint_id: endpoint.id },
  }))
}
