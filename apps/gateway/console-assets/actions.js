import { api, dataOf } from './api.js'
import { h } from './dom.js'
import { number } from './format.js'

/** @typedef {{id: string, fields: FormData}} Asked */
/** @typedef {string | Node | undefined} Message What to say to the reader; nothing when another page says it. */

/** @param {number} count */
const deliveries = (count) => (count === 1 ? '1 delivery' : `${number(count)} deliveries`)

/** @param {string} id */
const pathOf = (id) => ({ params: { path: { id: Number(id) } } })

/** @param {string} id @param {boolean} enabled */
const enable = (id, enabled) =>
  api().PATCH('/manage/webhook-endpoints/{id}', { ...pathOf(id), body: { enabled } })

/** What the buttons and forms do, by their `data-action`. @type {Record<string, (asked: Asked) => Promise<Message>>} */
export const actions = {
  retry: async ({ id }) => {
    await api().POST('/manage/deliveries/{id}/retry', pathOf(id))
    return `Delivery ${id} is being attempted once more.`
  },
  'send-test': async ({ id }) => {
    const { data } = await dataOf(api().POST('/manage/webhook-endpoints/{id}/test', pathOf(id)))
    return h(
      'span',
      {},
      'A sample is on its way: ',
      h('a', { href: `#/deliveries/${data.id}` }, `delivery ${data.id}`),
      '.',
    )
  },
  enable: async ({ id }) => {
    await enable(id, true)
    return 'Enabled: what was held goes on.'
  },
  disable: async ({ id }) => {
    await enable(id, false)
    return 'Disabled: its deliveries are held until it is enabled.'
  },
  recover: async ({ id, fields }) => {
    const since = new Date(String(fields.get('since'))).toISOString()
    const state = /** @type {'undelivered' | 'exhausted' | 'all'} */ (fields.get('state'))
    const body = { since, state }
    const recovered = api().POST('/manage/webhook-endpoints/{id}/recover', { ...pathOf(id), body })
    const { data } = await dataOf(recovered)
    return data.recovered === 0 && !data.recovered_capped
      ? 'There is no such delivery since then.'
      : `${data.recovered_capped ? 'At least ' : ''}${deliveries(data.recovered)} will be attempted once more.`
  },
  filter: async ({ fields }) => {
    const query = new URLSearchParams()
    for (const [name, value] of fields) if (String(value).trim()) query.set(name, String(value).trim())
    location.hash = query.size > 0 ? `#/deliveries?${query}` : '#/deliveries'
    return undefined
  },
}
