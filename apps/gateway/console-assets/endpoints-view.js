import { watchEndpoints } from './api.js'
import { attemptsChart, dayOf, totalOf } from './attempts-chart.js'
import { h } from './dom.js'
import { ago, number, successRate } from './format.js'
import { badge, empty, nameOf, stateOf, table, tile } from './parts.js'

/** @typedef {import('./api.js').WatchedEndpoint} WatchedEndpoint */

const COLUMNS = [
  'Endpoint',
  'State',
  'Last success',
  'Success',
  'Attempts, 24 h',
  'Pending',
  'Held',
  'Exhausted',
]

/** @param {WatchedEndpoint} endpoint @param {'pending' | 'held' | 'exhausted'} status */
const countOf = ({ id, health }, status) =>
  health[status] === 0
    ? h('span', { class: 'none' }, '0')
    : h(
        'a',
        { class: `count ${status}`, href: `#/deliveries?endpoint_id=${id}&status=${status}` },
        number(health[status]),
      )

/** @param {WatchedEndpoint} endpoint */
const row = (endpoint) => {
  const { id, url, description, health } = endpoint
  return {
    key: id,
    cells: [
      h(
        'span',
        { class: 'named' },
        h('a', { href: `#/endpoints/${id}`, title: url }, nameOf(endpoint)),
        description && h('span', { class: 'mono faint', title: url }, url),
      ),
      badge(stateOf(endpoint)),
      health.last_success_at ? ago(health.last_success_at) : h('span', { class: 'none' }, 'never'),
      h('span', { class: 'rate' }, successRate(totalOf(dayOf(health.hours)))),
      attemptsChart(health.hours, { width: 168, height: 34, className: 'small' }),
      countOf(endpoint, 'pending'),
      countOf(endpoint, 'held'),
      countOf(endpoint, 'exhausted'),
    ],
  }
}

/** @param {WatchedEndpoint[]} endpoints */
const summary = (endpoints) => {
  /** @param {'pending' | 'held' | 'exhausted'} status */
  const sum = (status) => endpoints.reduce((total, { health }) => total + health[status], 0)
  const total = totalOf(endpoints.flatMap(({ health }) => dayOf(health.hours)))
  const exhausted = sum('exhausted')
  return h(
    'dl',
    { class: 'tiles' },
    tile('Success, 24 h', successRate(total), { tone: total.failed ? '' : 'calm' }),
    tile('Attempts, 24 h', number(total.succeeded + total.failed)),
    tile('Pending', number(sum('pending')), { href: '#/deliveries?status=pending' }),
    tile('Held', number(sum('held')), { href: '#/deliveries?status=held' }),
    tile('Exhausted', number(exhausted), {
      tone: exhausted ? 'loud' : '',
      href: '#/deliveries?status=exhausted',
    }),
  )
}

/** #/: every endpoint with its health. */
export const endpointsView = {
  area: 'endpoints',
  title: () => 'Endpoints',
  /** @param {import('./console.js').Place} place */
  load: ({ signal }) => watchEndpoints(signal),
  /** @param {WatchedEndpoint[]} endpoints */
  render: (endpoints) => [
    h('h1', { tabindex: -1 }, 'Endpoints'),
    ...(endpoints.length === 0
      ? [
          empty(
            'No endpoint gets new leads yet.',
            h(
              'span',
              {},
              'Create an endpoint with ',
              h('code', {}, 'POST /manage/webhook-endpoints'),
              ', as ',
              h('a', { href: 'docs/' }, 'the docs'),
              ' say.',
            ),
          ),
        ]
      : [
          summary(endpoints),
          h('div', { class: 'card' }, table('Endpoints and their health', COLUMNS, endpoints.map(row))),
        ]),
  ],
}
