import { Link, useLocation, useSearch } from 'wouter-preact'

/**
 * Returns the query parameters of the page's URL, and a function that returns the URL with changed
 * parameters. The new URL has no cursor and no page, because they are valid only for unchanged parameters.
 */
export const useQuery = (): [URLSearchParams, (change: Record<string, string>) => string] => {
  const [path] = useLocation()
  const query = new URLSearchParams(useSearch())
  const changed = (change: Record<string, string>) => {
    const next = new URLSearchParams(query)
    next.delete('cursor')
    next.delete('page')
    for (const [name, value] of Object.entries(change)) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    return next.size > 0 ? `${path}?${next}` : path
  }
  return [query, changed]
}

/**
 * Links to the first and the next page of a list, with the cursor in the URL. `next` is the `next_cursor` of
 * the current page. `names` are the texts of the links.
 */
export const Pager = ({
  next,
  names = ['Newest', 'Older'],
}: {
  next?: string | number | null
  names?: [first: string, next: string]
}) => {
  const [query, changed] = useQuery()
  const isFirst = !query.get('cursor')
  if (isFirst && !next) return null
  return (
    <nav class="paging" aria-label="Pages">
      {!isFirst && (
        <Link class="step" href={changed({})}>
          {names[0]}
        </Link>
      )}
      {next && (
        <Link class="step" href={changed({ cursor: String(next) })}>
          {names[1]}
        </Link>
      )}
    </nav>
  )
}
