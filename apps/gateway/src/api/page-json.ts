import { encodeCursor } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import type { Call } from './operation'

/**
 * Returns the `page` of a query. Anything that is not an integer from 1 to 2^53 - 1 counts as page 1, and
 * so does a repeated parameter.
 */
export const pageNumber = (page: unknown): number => {
  const number = typeof page === 'string' && /^[1-9]\d{0,15}$/.test(page) ? Number(page) : 1
  return Number.isSafeInteger(number) ? number : 1
}

/** The position from which the next response continues. */
type Place = string | number | undefined

const encodeNext = (place: Place) => (place === undefined ? null : encodeCursor(place))

/** The rows of a list, as a JSON array. */
type Items = Uint8Array | string

const around = (items: Items, before: string, after: string): Buffer =>
  Buffer.concat([before, items, after].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))

/** Renders the rows after a cursor as JSON. */
export const cursorPageJson = (items: Items, next: Place): Buffer =>
  around(items, '{"data":', `,"next_cursor":${JSON.stringify(encodeNext(next))}}`)

interface Page {
  page: number
  perPage: number
  total: number
  /** The number of rows on the page. */
  count: number
  items: Items
}

/**
 * Renders a page as JSON. The fields have the order that the lead API gives them in its section Get Leads.
 * The fields of `more` come last. A page past the end has the form that Laravel 7 gives such a page. The URLs
 * that lead to other pages repeat the `filters`.
 */
export const pageJson = (
  { request, dependencies: { findAddress } }: Call<unknown>,
  { page, perPage, total, count, items }: Page,
  { filters = {}, more }: { filters?: object; more?: object } = {},
): Buffer => {
  const path = `${findAddress(request)}${request.routeOptions.url}`
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const first = (page - 1) * perPage + 1
  const kept = Object.entries(filters).map(([name, value]): [string, string] => [name, String(value)])
  const query = kept.length > 0 ? `${new URLSearchParams(kept)}&` : ''
  const url = (number: number) => `${path}?${query}page=${number}`
  const tail = JSON.stringify({
    first_page_url: url(1),
    from: count > 0 ? first : null,
    last_page: lastPage,
    last_page_url: url(lastPage),
    next_page_url: page < lastPage ? url(page + 1) : null,
    path,
    per_page: perPage,
    prev_page_url: page > 1 ? url(page - 1) : null,
    to: count > 0 ? first + count - 1 : null,
    total,
    ...more,
  })
  return around(items, `{"current_page":${page},"data":`, `,${tail.slice(1)}`)
}

/**
 * Renders a page of a filtered list. The total of such a list may be capped. Throws `invalid` for a page
 * beyond a capped total.
 */
export const filteredPageJson = (
  call: Call<unknown>,
  page: Page & { totalCapped: boolean; nextCursor?: Place },
  { filters, what }: { filters: object; what: string },
): Buffer => {
  const { totalCapped, nextCursor, total } = page
  if (totalCapped && page.page > Math.max(1, Math.ceil(total / page.perPage)))
    throw ServiceError.invalid({
      page: [`The page parameter reaches only the first ${total} ${what}. Use cursor to read further.`],
    })
  return pageJson(call, page, {
    filters,
    more: { total_capped: totalCapped, next_cursor: encodeNext(nextCursor) },
  })
}
