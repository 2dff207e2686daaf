import { listDeliveries, listEndpoints, Problem } from './api.js'
import { h } from './dom.js'
import { ago, number } from './format.js'
import { noteReference, wholeReference } from './lead-reference.js'
import { badge, empty, nameOf, shortReference, table } from './parts.js'

/** @typedef {import('./api.js').Endpoint} Endpoint */
/** @typedef {import('./api.js').Delivery} Delivery */
/** @typedef {import('./api.js').FieldErrors} FieldErrors */
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
export const deliveriesTable = (deliveries, endpoints) => {
  for (const { lead_reference } of deliveries) noteReference(lead_reference)
  return table(
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
}

/** Marks a field as invalid. @param {string} name @param {FieldErrors} errors */
const invalid = (name, errors) =>
  errors[name] ? { 'aria-invalid': 'true', 'aria-describedby': `${name}-error` } : {}

/** The errors of a field, beside it. @param {string} name @param {FieldErrors} errors */
const errorOf = (name, errors) =>
  errors[name] && h('span', { class: 'error', id: `${name}-error`, role: 'alert' }, errors[name].join(' '))

/** @param {string} name @param {string} label @param {[string, string][]} options @param {string | null} chosen @param {FieldErrors} errors */
const choice = (name, label, options, chosen, errors) =>
  h(
    'label',
    {},
    h('span', {}, label),
    h(
      'select',
      { name, ...invalid(name, errors) },
      h('option', { value: '' }, 'All'),
      ...options.map(([value, text]) => h('option', { value, selected: value === chosen }, text)),
    ),
    errorOf(name, errors),
  )

/** @param {Endpoint[]} endpoints @param {URLSearchParams} query @param {FieldErrors} errors */
const filters = (endpoints, query, errors) =>
  h(
    'form',
    { class: 'fields card padded', 'data-action': 'filter', role: 'search', 'aria-label': 'Deliveries' },
    choice(
      'endpoint_id',
      'Endpoint',
      endpoints.map((one) => [String(one.id), nameOf(one)]),
      query.get('endpoint_id'),
      errors,
    ),
    choice(
      'status',
      'Status',
      STATUSES.map((status) => [status, status]),
      query.get('status'),
      errors,
    ),
    h(
      'label',
      { class: 'wide' },
      h('span', {}, 'Lead reference'),
      h('input', {
        name: 'lead_reference',
        value: query.get('lead_reference'),
        placeholder: 'The whole, or how it begins',
        spellcheck: 'false',
        autocomplete: 'off',
        class: 'mono',
        ...invalid('lead_reference', errors),
      }),
      errorOf('lead_reference', errors),
    ),
    h('button', { type: 'submit' }, 'Filter'),
    isFiltered(query) && h('a', { href: '#/deliveries', class: 'clear' }, 'Clear'),
  )

/** @param {URLSearchParams} query */
const isFiltered = (query) => FILTERS.some((name) => query.get(name))

/** @param {import('./api.js').Page} page @param {URLSearchParams} query */
const paging = ({ current_page, last_page, from, to, total, total_capped }, query) => {
  /** @param {number} page @param {string} label @param {string} rel */
  const link = (page, label, rel) => {
    const there = page >= 1 && page <= last_page
    const next = new URLSearchParams(query)
    next.set('page', String(page))
    return there
      ? h('a', { href: `#/deliveries?${next}`, rel, class: 'step', 'data-key': rel }, label)
      : h('span', { class: 'step', 'aria-disabled': 'true', 'data-key': `no ${rel}` }, label)
  }
  const all = `${number(total)}${total_capped ? ' or more' : ''}`
  const here = from === null ? `none of ${all}` : `${number(from)}–${number(to ?? from)} of ${all}`
  return h(
    'nav',
    { class: 'paging', 'aria-label': 'Pages' },
    // Past the end the page before is the last one.
    link(Math.min(current_page - 1, last_page), 'Newer', 'prev'),
    h('span', {}, here),
    link(current_page + 1, 'Older', 'next'),
  )
}

/** @param {URLSearchParams} query @param {AbortSignal} signal @returns {Promise<{page?: import('./api.js').Page, errors: FieldErrors}>} */
const listed = async (query, signal) => {
  const asked = new URLSearchParams(query)
  const typed = query.get('lead_reference')
  try {
    if (typed) {
      const found = await wholeReference(typed, query, signal)
      if ('error' in found) return { errors: { lead_reference: [found.error] } }
      asked.set('lead_reference', found.reference)
    }
    return { page: await listDeliveries(asked, signal), errors: {} }
  } catch (error) {
    if (error instanceof Problem && error.status === 422) return { errors: error.errors }
    throw error
  }
}

/** @param {import('./api.js').Page | undefined} page @param {Endpoint[]} endpoints @param {URLSearchParams} query */
const list = (page, endpoints, query) => {
  if (!page) return []
  if (page.total > 0) {
    return [h('div', { class: 'card' }, deliveriesTable(page.data, endpoints)), paging(page, query)]
  }
  const nothing = 'Nothing was sent yet: each new lead makes a delivery.'
  return [empty(isFiltered(query) ? 'No delivery matches.' : nothing)]
}

/** Errors of what is no field of the form, such as the page. @param {FieldErrors} errors */
const otherErrors = (errors) =>
  Object.entries(errors)
    .filter(([name]) => !FILTERS.includes(name))
    .map(([name, messages]) => h('p', { class: 'error', role: 'alert' }, `${name}: ${messages.join(' ')}`))

/** #/deliveries?endpoint_id=&status=&lead_reference=&page=: newest first. */
export const deliveriesView = {
  area: 'deliveries',
  title: () => 'Deliveries',
  /** @param {Place} place */
  load: async ({ query, signal }) => {
    const [{ page, errors }, endpoints] = await Promise.all([listed(query, signal), listEndpoints(signal)])
    return { page, errors, endpoints, query }
  },
  /** @param {{page?: import('./api.js').Page, errors: FieldErrors, endpoints: Endpoint[], query: URLSearchParams}} data */
  render: ({ page, errors, endpoints, query }) => [
    h('h1', { tabindex: -1 }, 'Deliveries'),
    filters(endpoints, query, errors),
    ...otherErrors(errors),
    ...list(page, endpoints, query),
  ],
}
