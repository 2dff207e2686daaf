import { ServiceError } from '@leadwire/service-kit'
import { cursorOf } from '../validation/cursor'
import type { Call } from './operation'

/** The `page` of a query. What is no integer from 1 to 2^53 - 1 is page 1, a repeated parameter too. */
export const pageNumber = (page: unknown): number => {
  const number = typeof page === 'string' && /^[1-9]\d{0,15}$/.test(page) ? Number(page) : 1
  return Number.isSafeInteger(number) ? number : 1
}

/** Where the next page starts. */
type Place = string | number | undefined

const nextOf = (place: Place) => (place === undefined ? null : cursorOf(place))

/** The JSON array of the rows of a list. */
type Items = Uint8Array | string

const around = (items: Items, before: string, after: string): Buffer =>
  Buffer.concat([before, items, after].map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))

/** Rows that follow a cursor, as JSON. */
export const cursorPageJson = (items: Items, next: Place): Buffer =>
  around(items, '{"data":', `,"next_cursor":${JSON.stringify(nextOf(next))}}`)

interface Page {
  page: number
  perPage: number
  total: number
  /** How many rows the page has. */
  count: number
  items: Items
}

/**
 * A page as JSON with the fields in the interface's order (Get Leads), `more` after them; past the end as in Laravel 7. `filters` are
 * kept in the addresses of other pages.
 */
export const pageJson = (
  { request, dependencies: { addressOf } }: Call<unknown>,
  { page, perPage, total, count, items }: Page,
  { filters = {}, more }: { filters?: object; more?: object } = {},
): Buffer => {
  const path = `${addressOf(request)}${request.routeOptions.url}`
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

/** A page of a list with filters, whose count stops somewhere. Throws invalid for a page beyond a count that stopped. */
export const filteredPageJson = (
  call: Call<unknown>,
  page: Page & { totalCapped: boolean; nextCursor?: Place },
  { filters, what }: { filters: object; what: string },
): Buffer => {
  const { totalCapped, nextCursor, total } = page
  if (totalCapped && page.page > Math.max(1, Math.ceil(total / page.perPage)))
    throw ServiceError.invalid({ page: [`Pages end here with ${total} ${what}. A cursor walks them all.`] })
  return pageJson(call, page, {
    filters,
    more: { total_capped: totalCapped, next_cursor: nextOf(nextCursor) },
  })
}
