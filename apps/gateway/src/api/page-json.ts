import { ServiceError } from '@leadwire/service-kit'
import type { Call } from './operation'

/** The `page` of a query. What is no integer from 1 to 2^53 - 1 is page 1, a repeated parameter too. */
export const pageNumber = (page: unknown): number => {
  const number = typeof page === 'string' && /^[1-9]\d{0,15}$/.test(page) ? Number(page) : 1
  return Number.isSafeInteger(number) ? number : 1
}

type Json = Uint8Array | string

const bytesOf = (json: Json) => (typeof json === 'string' ? Buffer.from(json) : json)

/** Records that follow a cursor, as JSON: `items` is the array of them. */
export const cursorPageJson = (items: Json, nextCursor: string | number | undefined): Buffer => {
  const next = nextCursor === undefined ? null : String(nextCursor)
  return Buffer.concat([
    Buffer.from('{"data":'),
    bytesOf(items),
    Buffer.from(`,"next_cursor":${JSON.stringify(next)}}`),
  ])
}

interface Page {
  page: number
  perPage: number
  total: number
  /** How many rows the page has. */
  count: number
  /** The JSON array of its rows. */
  items: Json
}

/**
 * A page of the list that was asked for, as JSON with the fields in the interface's order (Get Leads). Past the end `data` is empty,
 * `from` and `to` are null, and the page before is simply the one before, as in Laravel 7. `filters` are kept in the addresses of
 * other pages; `more` follows the interface's fields.
 */
export const pageJson = (
  { request, addressOf }: Pick<Call<unknown>, 'request' | 'addressOf'>,
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
  return Buffer.concat([
    Buffer.from(`{"current_page":${page},"data":`),
    bytesOf(items),
    Buffer.from(`,${tail.slice(1)}`),
  ])
}

/** A page of a list with filters, whose count stops somewhere. Throws invalid for a page beyond a count that stopped. */
export const filteredPageJson = (
  call: Pick<Call<unknown>, 'request' | 'addressOf'>,
  page: Page & { totalCapped: boolean; nextCursor?: string | number | undefined },
  { filters, what }: { filters: object; what: string },
): Buffer => {
  const { totalCapped, nextCursor, total } = page
  if (totalCapped && page.page > Math.max(1, Math.ceil(total / page.perPage)))
    throw ServiceError.invalid({ page: [`Pages end here with ${total} ${what}. A cursor walks them all.`] })
  const next_cursor = nextCursor === undefined ? null : String(nextCursor)
  return pageJson(call, page, { filters, more: { total_capped: totalCapped, next_cursor } })
}
