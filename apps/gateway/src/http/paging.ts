/** The `page` of a query: what is no integer from 1 to 2^53 - 1 is page 1 (a repeated one too). */
export const pageNumber = (page: unknown): number => {
  const number = typeof page === 'string' && /^[1-9]\d{0,15}$/.test(page) ? Number(page) : 1
  return Number.isSafeInteger(number) ? number : 1
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
}

/**
 * A page as its public JSON, fields in the interface's order (Get Leads). Past the end `data` is empty, `from` and
 * `to` are null, and the page before is simply the one before, as in Laravel 7.
 */
export const pageJson = ({ page, perPage, total, count, items, path, query }: Page): Buffer => {
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
  })
  return Buffer.concat([
    Buffer.from(head),
    typeof items === 'string' ? Buffer.from(items) : items,
    Buffer.from(`,${tail.slice(1)}`),
  ])
}
