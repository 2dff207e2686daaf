import { listDeliveries } from './api.js'

const SHAPE = 'xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx'
const LEAST = 4
const MOST_PAGES = 10

/** Every whole reference this tab has shown: a table shows only the first part, which is what a reader copies. */
const seen = new Set()

/** @param {string} reference */
export const noteReference = (reference) => void seen.add(reference)

/** @param {string} text Whether a reference could begin like that. */
const isBeginning = (text) =>
  text.length >= LEAST &&
  text.length <= SHAPE.length &&
  [...text].every((character, index) =>
    SHAPE[index] === '-' ? character === '-' : /[0-9a-f]/.test(character),
  )

/**
 * Completes a reference of which the reader typed the first characters, from the deliveries that this tab has shown, then from the
 * newest ones.
 * @param {string} typed @param {URLSearchParams} query The other filters. @param {AbortSignal} signal
 * @returns {Promise<{reference: string} | {error: string}>}
 */
export const wholeReference = async (typed, query, signal) => {
  const text = typed.toLowerCase()
  if (!isBeginning(text)) {
    return { error: `Not a lead reference: give a UUID, or at least the first ${LEAST} characters of one.` }
  }
  if (text.length === SHAPE.length) return { reference: text }
  const others = new URLSearchParams(query)
  others.delete('lead_reference')
  for (let page = 1, last = 1; ; page += 1) {
    const [first, ...more] = [...seen].filter((reference) => reference.startsWith(text))
    if (more.length > 0) return { error: 'Several leads begin like that: give more of the reference.' }
    if (first) return { reference: first }
    if (page > last) return { error: 'No delivery is of a lead that begins like that.' }
    if (page > MOST_PAGES) {
      return { error: 'None of the newest deliveries is of a lead that begins like that: give all of it.' }
    }
    others.set('page', String(page))
    const found = await listDeliveries(others, signal)
    for (const { lead_reference } of found.data) noteReference(lead_reference)
    last = found.last_page
  }
}
