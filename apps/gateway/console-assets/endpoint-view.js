import { listDeliveries, ownProblem, watchEndpoints } from './api.js'
import { attemptsChart, attemptsTable, dayOf, totalOf } from './attempts-chart.js'
import { deliveriesTable } from './deliveries-view.js'
import { h } from './dom.js'
import { ago, clock, exactly, number, successRate } from './format.js'
import { badge, button, empty, nameOf, stateOf, tile } from './parts.js'

/** @typedef {import('./api.js').WatchedEndpoint} WatchedEndpoint */

const DAY_MS = 86_400_000

/** @param {number} ms As a datetime-local field takes it: the reader's own time, to the minute. */
const localMinute = (ms) =>
  new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16)

/** @param {WatchedEndpoint} endpoint */
const actionsOf = ({ id, enabled }) =>
  h(
    'div',
    { class: 'actions' },
    button('send-test', 'Send a test', { 'data-id': id }),
    enabled
      ? button('disable', 'Disable', { 'data-id': id, class: 'quiet', 'data-key': 'disable' })
      : button('enable', 'Enable', { 'data-id': id, 'data-key': 'enable' }),
  )

/** @param {WatchedEndpoint} endpoint */
const figures = ({ id, health }) => {
  /** @param {string} status */
  const href = (status) => `#/deliveries?endpoint_id=${id}&status=${status}`
  return h(
    'dl',
    { class: 'tiles' },
    tile('Last success', health.last_success_at ? ago(health.last_success_at) : 'never'),
    tile('Success, 24 h', successRate(totalOf(dayOf(health.hours)))),
    tile('Pending', number(health.pending), { href: href('pending') }),
    tile('Held', number(health.held), { href: href('held') }),
    tile('Exhausted', number(health.exhausted), {
      tone: health.exhausted ? 'loud' : '',
      href: href('exhausted'),
    }),
  )
}

/** @param {WatchedEndpoint} endpoint */
const attempts = ({ health: { hours } }) => {
  const day = dayOf(hours)
  const marks = [day[0], day[6], day[12], day[18]].map((hour) => h('span', {}, clock(hour?.start ?? 0)))
  const { succeeded, failed } = totalOf(day)
  return h(
    'section',
    { class: 'card padded', 'aria-labelledby': 'attempts' },
    h(
      'div',
      { class: 'heading' },
      h('h2', { id: 'attempts' }, 'Attempts in the last 24 hours'),
      h(
        'p',
        { class: 'legend' },
        h('span', { class: 'good' }, `${number(succeeded)} succeeded`),
        h('span', { class: 'bad' }, `${number(failed)} failed`),
      ),
    ),
    attemptsChart(hours, { width: 720, height: 140, className: 'large' }),
    h('div', { class: 'marks', 'aria-hidden': 'true' }, ...marks, h('span', {}, 'now')),
    attemptsTable(hours),
  )
}

/** @param {WatchedEndpoint} endpoint */
const recovery = ({ id }) =>
  h(
    'section',
    { class: 'card padded', 'aria-labelledby': 'recover' },
    h('h2', { id: 'recover' }, 'Recover'),
    h(
      'p',
      { class: 'faint' },
      'Attempts deliveries once more that were made at or after a moment, ten a second: for a receiver that was unavailable and is back.',
    ),
    h(
      'form',
      { class: 'fields', 'data-action': 'recover', 'data-id': id },
      h(
        'label',
        {},
        h('span', {}, 'Since (your time)'),
        h('input', {
          type: 'datetime-local',
          name: 'since',
          required: true,
          value: localMinute(Date.now() - DAY_MS),
        }),
      ),
      h(
        'label',
        {},
        h('span', {}, 'Which'),
        h(
          'select',
          { name: 'state' },
          h('option', { value: 'undelivered' }, 'all that are undelivered'),
          h('option', { value: 'exhausted' }, 'only exhausted ones'),
          h('option', { value: 'all' }, 'delivered ones too'),
        ),
      ),
      h('button', { type: 'submit' }, 'Recover'),
    ),
  )

/** @param {WatchedEndpoint} endpoint @param {import('./api.js').Page} page */
const latest = (endpoint, page) =>
  h(
    'section',
    { 'aria-labelledby': 'latest' },
    h(
      'div',
      { class: 'heading' },
      h('h2', { id: 'latest' }, 'Latest deliveries'),
      h(
        'a',
        { href: `#/deliveries?endpoint_id=${endpoint.id}` },
        `All ${number(page.total)}${page.total_capped ? ' and more' : ''}`,
      ),
    ),
    page.total === 0
      ? empty('Nothing was sent here yet.')
      : h('div', { class: 'card' }, deliveriesTable(page.data.slice(0, 10))),
  )

/** #/endpoints/:id: one endpoint, what can be done about it, and its latest deliveries. */
export const endpointView = {
  area: 'endpoints',
  /** @param {import('./console.js').Place} place */
  title: ({ id }) => `Endpoint ${id}`,
  /** @param {import('./console.js').Place} place */
  load: async ({ id, signal }) => {
    const [endpoints, page] = await Promise.all([
      watchEndpoints(signal),
      listDeliveries(new URLSearchParams({ endpoint_id: id }), signal),
    ])
    const endpoint = endpoints.find((one) => one.id === Number(id))
    if (!endpoint) throw ownProblem(404, 'Not Found', `There is no endpoint ${id}.`)
    return { endpoint, page }
  },
  /** @param {{endpoint: WatchedEndpoint, page: import('./api.js').Page}} data */
  render: ({ endpoint, page }) => [
    h('p', { class: 'crumbs' }, h('a', { href: '#/' }, 'Endpoints')),
    h(
      'div',
      { class: 'heading' },
      h('h1', { tabindex: -1 }, nameOf(endpoint), ' ', badge(stateOf(endpoint))),
      actionsOf(endpoint),
    ),
    h('p', { class: 'mono faint wrap' }, endpoint.url),
    h('p', { class: 'faint' }, 'Endpoint ', endpoint.id, ', made ', exactly(endpoint.created_at)),
    figures(endpoint),
    attempts(endpoint),
    recovery(endpoint),
    latest(endpoint, page),
  ],
}
