import { get } from './api.js'
import { h } from './dom.js'
import { ago, number } from './format.js'
import { badge, empty, nameOf, shortReference, table } from './parts.js'

/** @typedef {import('./api.js').Endpoint} Endpoint */
/** @typedef {import('./api.js').Delivery} Delivery */
/** @typedef {import('./console.js').Place} Place */

const STATUSES = ['pending', 'delivered', 'exhausted', 'held', 'cancelled']
const COLUMNS = ['Delivery', 'Status', 'Endpoint', 'Lead', 'Attempts', 'Next attempt', 'Made']
const FILTERS = ['endpoint_id', 'status', 'lead_reference']

/** @param {Delivery} delivery @param {Endpoint[]} endpoints Deliveries outlive their endpoint. */
const endpointOf = ({ endpoint_id }, endpoints) => {
  const endpoint = endpoints.find(({ id }) => id === endpoint_id)
  return endpoint
    ? h('a', { href: `#/endpoints/${endpoint_id}`, class: 'cut', title: endpoint.url }, nameOf(endpoint))
    : `${endpoint_id} (deleted)`
}

/** @param {Delivery[]} deliveries @param {Endpoint[]} [endpoints] Absent where all go to the one that is shown. */
export const deliveriesTable = (deliveries, endpoints) =>
  table(
    'Deliveries, newest first',
    COLUMNS.filter((column) => endpoints || column !== 'Endpoint'),
    deliveries.map((delivery) => ({
      key: delivery.id,
      cells: [
        h('a', { href: `#/deliveries/${delivery.id}` }, `#${delivery.id}`),
        badge(delivery.status),
        ...(endpoints ? [endpointOf(delivery, endpoints)] : []),
        shortReference(delivery.lead_reference),
        number(delivery.attempt_count),
        delivery.next_attempt_at ? ago(delivery.next_attempt_at) : h('span', { class: 'none' }, '–'),
        ago(delivery.created_at),
      ],
    })),
  )

/** @param {string} name @param {string} label @param {[string, string][]} options @param {string | null} chosen */
const choice = (name, label, options, chosen) =>
  h(
    'label',
    {},
    h('span', {}, label),
    h(
      'select',
      { name },
      h('option', { value: '' }, 'All'),
      ...options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
    ),
  )

/** @param {Endpoint[]} endpoints @param {URLSearchParams} query */
const filters = (endpoints, query) =>
  h(
    'form',
    { class: 'fields card padded', 'data-action': 'filter', role: 'search', 'aria-label': 'Deliveries' },
    choice(
      'endpoint_id',
      'Endpoint',
      endpoints.map((one) => [String(one.id), nameOf(one)]),
      query.get('endpoint_id'),
    ),
    choice(
      'status',
      'Status',
      STATUSES.map((status) => [status, status]),
      query.get('status'),
    ),
    h(
      'label',
      { class: 'wide' },
      h('span', {}, 'Lead reference'),
      h('input', {
        name: 'lead_reference',
        value: query.get('lead_reference'),
        placeholder: '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10',
        spellcheck: 'false',
        autocomplete: 'off',
        class: 'mono',
      }),
    ),
    h('button', { type: 'submit' }, 'Filter'),
    isFiltered(query) && h('a', { href: '#/deliveries', class: 'clear' }, 'Clear'),
  )

/** @param {URLSearchParams} query */
const isFiltered = (query) => FILTERS.some((name) => query.get(name))

/** @param {import('./api.js').Page} page @param {URLSearchParams} query */
const paging = ({ current_page, last_page, from, to, total }, query) => {
  /** @param {number} page @param {string} label @param {string} rel */
  const link = (page, label, rel) => {
    const there = page >= 1 && page <= last_page
    const next = new URLSearchParams(query)
    next.set('page', String(page))
    return there
      ? h('a', { href: `#/deliveries?${next}`, rel, class: 'step', 'data-key': rel }, label)
      : h('span', { class: 'step', 'aria-disabled': 'true', 'data-key': `no ${rel}` }, label)
  }
  const here =
    from === null ? `none of ${number(total)}` : `${number(from)}–${number(to ?? from)} of ${number(total)}`
  return h(
    'nav',
    { class: 'paging', 'aria-label': 'Pages' },
    // Past the end the page before is the last one.
    link(Math.min(current_page - 1, last_page), 'Newer', 'prev'),
    h('span', {}, here),
    link(current_page + 1, 'Older', 'next'),
  )
}

/** #/deliveries?endpoint_id=&status=&lead_reference=&page=: newest first. */
export const deliveriesView = {
  area: 'deliveries',
  title: () => 'Deliveries',
  /** @param {Place} place */
  load: async ({ query, signal }) => {
    const [page, endpoints] = await Promise.all([
      get(`deliveries?${query}`, signal),
      get('webhook-endpoints', signal),
    ])
    return { page, endpoints: endpoints.data, query }
  },
  /** @param {{page: import('./api.js').Page, endpoints: Endpoint[], query: URLSearchParams}} data */
  render: ({ page, endpoints, query }) => [
    h('h1', { tabindex: -1 }, 'Deliveries'),
    filters(endpoints, query),
    page.total === 0
      ? empty(
          isFiltered(query)
            ? 'No delivery matches.'
            : 'Nothing was sent yet: each new lead makes a delivery.',
        )
      : h('div', { class: 'card' }, deliveriesTable(page.data, endpoints)),
    ...(page.total === 0 ? [] : [paging(page, query)]),
  ],
}
