import { api, dataOf, listEndpoints } from './api.js'
import { h } from './dom.js'
import { ago, exactly, span } from './format.js'
import { badge, button, empty, nameOf } from './parts.js'

/** @typedef {import('./api.js').Attempt} Attempt */
/** @typedef {import('./api.js').Delivery & {attempts: Attempt[]}} RetrievedDelivery */
/** @typedef {{delivery: RetrievedDelivery, endpoint: import('./api.js').Endpoint | undefined}} Data */

/** @type {Record<string, string>} */
const MEANINGS = {
  blocked: 'Webhooks are not sent to private or local addresses.',
  dns: 'The host name could not be resolved.',
  http_status: 'Only 2xx is success.',
  network: 'The connection failed.',
  protocol: 'The answer was no well-formed HTTP.',
  refused: 'Nothing listens at the address.',
  reset: 'The receiver cut the connection.',
  timeout: 'The receiver took too long.',
  tls: 'The certificate or the handshake failed.',
  unreachable: 'No way leads to the address.',
}

/** @param {Attempt} attempt */
const endOf = ({ started_at, duration_ms }) => Date.parse(started_at) + duration_ms

const REDIRECTS = [301, 302, 303, 307, 308]

/** @param {Attempt} attempt */
const meaningOf = ({ status, error }) => {
  if (status !== null && REDIRECTS.includes(status))
    return 'A redirect is not followed: give the endpoint the address it leads to.'
  return error && MEANINGS[error]
}

/** @param {Attempt} attempt */
const outcome = (attempt) => {
  const { status, error } = attempt
  const meaning = meaningOf(attempt)
  return h(
    'span',
    { class: 'outcome' },
    status !== null && h('strong', {}, `HTTP ${status}`),
    error && h('span', { class: 'mono' }, error),
    meaning && h('span', { class: 'faint' }, meaning),
  )
}

/** What is said where no body is kept: the API has null for an empty one. @param {Attempt} attempt */
const withoutBody = ({ status, error }) => {
  if (status === null) return 'No answer.'
  return error === 'timeout' ? 'No body came in time.' : 'The answer was empty.'
}

/** @param {Attempt} attempt */
const answer = (attempt) => {
  const { response } = attempt
  return response
    ? h(
        'details',
        {},
        h('summary', {}, 'Answer', h('span', { class: 'faint' }, ` ${response.length} characters`)),
        h('pre', { tabindex: 0 }, response),
      )
    : h('p', { class: 'none' }, withoutBody(attempt))
}

/** @param {Attempt} attempt @param {Attempt | undefined} before @param {number} slowest */
const stop = (attempt, before, slowest) =>
  h(
    'li',
    { class: attempt.error ? 'failed' : 'succeeded', 'data-key': attempt.number },
    before &&
      h(
        'p',
        { class: 'pause' },
        `${span(Math.max(0, Date.parse(attempt.started_at) - endOf(before)))} later`,
      ),
    h(
      'div',
      { class: 'card padded attempt' },
      h(
        'div',
        { class: 'heading' },
        h('h3', {}, `Attempt ${attempt.number} ${attempt.error ? 'failed' : 'succeeded'}`),
        exactly(attempt.started_at),
      ),
      outcome(attempt),
      h(
        'p',
        { class: 'took' },
        h('meter', { min: 0, max: slowest, value: attempt.duration_ms, 'aria-label': 'Duration' }),
        span(attempt.duration_ms),
      ),
      answer(attempt),
    ),
  )

/** @param {RetrievedDelivery} delivery */
const ahead = ({ status, next_attempt_at }) => {
  if (status === 'held') return 'Held until its endpoint is enabled.'
  if (status === 'exhausted') return 'No attempt is left. It is kept, and you can retry it.'
  if (status === 'cancelled') return 'Cancelled with its endpoint.'
  return (
    next_attempt_at && h('span', {}, 'Next attempt ', ago(next_attempt_at), ', at ', exactly(next_attempt_at))
  )
}

/** @param {RetrievedDelivery} delivery */
const timeline = (delivery) => {
  const { attempts } = delivery
  const slowest = Math.max(1, ...attempts.map(({ duration_ms }) => duration_ms))
  const next = ahead(delivery)
  return h(
    'ol',
    { class: 'timeline' },
    ...attempts.map((attempt, index) => stop(attempt, attempts[index - 1], slowest)),
    next && h('li', { class: 'ahead', 'data-key': 'ahead' }, h('p', {}, next)),
  )
}

/** @param {Data} data */
const facts = ({ delivery, endpoint }) => {
  /** @type {[string, import('./dom.js').Child][]} */
  const rows = [
    [
      'Endpoint',
      endpoint
        ? h('a', { href: `#/endpoints/${endpoint.id}` }, nameOf(endpoint))
        : `${delivery.endpoint_id} (deleted)`,
    ],
    [
      'Lead',
      h(
        'a',
        { class: 'mono', href: `#/deliveries?lead_reference=${delivery.lead_reference}` },
        delivery.lead_reference,
      ),
    ],
    ['Event (webhook-id)', h('span', { class: 'mono' }, delivery.event_id)],
    ['Made', exactly(delivery.created_at)],
    ['Changed', ago(delivery.updated_at)],
  ]
  return h(
    'dl',
    { class: 'facts card padded' },
    ...rows.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))),
  )
}

/** #/deliveries/:id: one delivery with every attempt. */
export const deliveryView = {
  area: 'deliveries',
  /** @param {import('./console.js').Place} place */
  title: ({ id }) => `Delivery ${id}`,
  /** @param {import('./console.js').Place} place @returns {Promise<Data>} */
  load: async ({ id, signal }) => {
    const [delivery, endpoints] = await Promise.all([
      dataOf(api().GET('/manage/deliveries/{id}', { params: { path: { id: Number(id) } }, signal })),
      listEndpoints(signal),
    ])
    const endpoint = endpoints.find((one) => one.id === delivery.data.endpoint_id)
    return { delivery: delivery.data, endpoint }
  },
  /** @param {Data} data */
  render: (data) => {
    const { delivery } = data
    return [
      h('p', { class: 'crumbs' }, h('a', { href: '#/deliveries' }, 'Deliveries')),
      h(
        'div',
        { class: 'heading' },
        h('h1', { tabindex: -1 }, `Delivery ${delivery.id} `, badge(delivery.status)),
        data.endpoint &&
          h('div', { class: 'actions' }, button('retry', 'Retry now', { 'data-id': delivery.id })),
      ),
      facts(data),
      h('h2', {}, 'Attempts'),
      delivery.attempts.length === 0 ? empty('No attempt was made yet.') : null,
      timeline(delivery),
    ].filter((part) => part !== null)
  },
}
