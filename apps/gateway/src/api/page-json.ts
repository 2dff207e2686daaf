import { ServiceError } from '@leadwire/service-kit'

/** The `page` of a query: what is no integer from 1 to 2^53 - 1 is page 1 (a repeated one too). */
export const pageNumber = (page: unknown): number => {
  const number = typeof page === 'string' && /^[1-9]\d{0,15}$/.test(page) ? Number(page) : 1
  return Number.isSafeInteger(number) ? number : 1
}

/** Throws invalid for a page behind those that a count that stopped knows of. */
export const refuseBeyond = (asked: {
  page: number
  perPage: number
  total: number
  totalCapped: boolean
  /** What the list has. */
  what: string
}): void => {
  const { page, perPage, total, totalCapped, what } = asked
  if (totalCapped && page > Math.max(1, Math.ceil(total / perPage)))
    throw ServiceError.invalid({ page: [`Pages end here with ${total} ${what}. A cursor walks them all.`] })
}

/** A page of a list: `items` is the JSON array of its `count` rows, `path` the list's address without its query. */
export interface Page {
  page: number
  perPage: number
  total: number
  count: number
  items: Uint8Array | string
  path: string
  /** Filters that the page addresses keep. */
  query?: Record<string, string>
  /** Members behind those of the interface. */
  more?: object
}

/**
 * A page as its public JSON, fields in the interface's order (Get Leads). Past the end `data` is empty, `from` and
 * `to` are null, and the page before is simply the one before, as in Laravel 7.
 */
export const pageJson = ({ page, perPage, total, count, items, path, query, more }: Page): Buffer => {
  const lastPage = Math.max(1, Math.ceil(total / perPage))
  const first = (page - 1) * perPage + 1
  const filters = query ? String(new URLSearchParams(query)) : ''
  const url = (number: number) => `${path}?${filters}${filters && '&'}page=${number}`
  const head = `{"current_page":${page},"data":`
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
    Buffer.from(head),
    typeof items === 'string' ? Buffer.from(items) : items,
    Buffer.from(`,${tail.slice(1)}`),
  ])
}

/** An answer of a walk as its JSON: `items` is the JSON array of its records. */
export const cursorPageJson = (items: Uint8Array | string, nextCursor: string | undefined): Buffer =>
  Buffer.concat([
    Buffer.from('{"data":'),
    typeof items === 'string' ? Buffer.from(items) : items,
    Buffer.from(`,"next_cursor":${JSON.stringify(nextCursor ?? null)}}`),
  ])
