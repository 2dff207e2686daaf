import { h } from './dom.js'

/** @typedef {import('./dom.js').Child} Child */

/** A button that `actions.js` answers. @param {string} action @param {string} label @param {import('./dom.js').Attributes} [attributes] */
export const button = (action, label, attributes = {}) =>
  h('button', { type: 'button', 'data-action': action, ...attributes }, label)

/** A word with a mark, so that it does not hang on its colour. @param {string} status */
export const badge = (status) => h('span', { class: `badge ${status}` }, status)

/**
 * The state of an endpoint: `failing` where each attempt of the latest hour that had any has failed.
 * @param {import('./api.js').WatchedEndpoint} endpoint
 */
export const stateOf = ({ enabled, health }) => {
  const tried = health.hours.filter(({ succeeded, failed }) => succeeded + failed > 0)
  const latest = tried.sort((one, other) => Date.parse(one.hour) - Date.parse(other.hour)).at(-1)
  if (!enabled) return 'disabled'
  return latest?.succeeded === 0 ? 'failing' : 'enabled'
}

/** @param {string} uuid Its first part; the whole on hover and for copying. */
export const shortReference = (uuid) => h('abbr', { class: 'mono', title: uuid }, uuid.slice(0, 8))

/** @param {{description: string | null, url: string}} endpoint */
export const nameOf = ({ description, url }) => description || url.replace(/^https?:\/\//, '')

/** @param {string} label @param {Child} value @param {{tone?: string, href?: string}} [options] */
export const tile = (label, value, { tone = '', href } = {}) =>
  h('div', { class: `tile ${tone}` }, h('dt', {}, label), h('dd', {}, href ? h('a', { href }, value) : value))

/** @param {string} text @param {...Child} more */
export const empty = (text, ...more) =>
  h('div', { class: 'empty' }, h('p', {}, text), ...more.map((one) => one && h('p', {}, one)))

/**
 * A table that becomes a list of cards where it is narrow; CSS takes the roles of its parts away there, so they are
 * said outright.
 * @param {string} caption @param {string[]} columns @param {{key: string | number, cells: Child[]}[]} rows The first cell names the row.
 */
export const table = (caption, columns, rows) =>
  h(
    'table',
    { class: 'rows', role: 'table' },
    h('caption', { class: 'unseen' }, caption),
    h(
      'thead',
      { role: 'rowgroup' },
      h(
        'tr',
        { role: 'row' },
        ...columns.map((name) => h('th', { scope: 'col', role: 'columnheader' }, name)),
      ),
    ),
    h(
      'tbody',
      { role: 'rowgroup' },
      ...rows.map(({ key, cells }) =>
        h(
          'tr',
          { role: 'row', 'data-key': key },
          ...cells.map((cell, index) =>
            index === 0
              ? h('th', { scope: 'row', role: 'rowheader' }, cell)
              : h('td', { role: 'cell', 'data-label': columns[index] }, cell),
          ),
        ),
      ),
    ),
  )
