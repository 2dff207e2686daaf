import { Link, useLocation, useSearch } from 'wouter-preact'

/** The address of this list with other parameters; without a cursor, because that belongs to the old ones. */
export const useQuery = (): [URLSearchParams, (change: Record<string, string>) => string] => {
  const [path] = useLocation()
  const query = new URLSearchParams(useSearch())
  const changed = (change: Record<string, string>) => {
    const next = new URLSearchParams(query)
    next.delete('cursor')
    for (const [name, value] of Object.entries(change)) {
      if (value) next.set(name, value)
      else next.delete(name)
    }
    return next.size > 0 ? `${path}?${next}` : path
  }
  return [query, changed]
}

/**
 * Steps through a list by the cursor in the address. `next` is the `next_cursor` of the page that is shown; `names` are those of the
 * way to the first page and to the next one.
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
