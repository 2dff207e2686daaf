import { Link } from 'wouter-preact'
import type { Filter } from '../parts/filters'
import { useQuery } from '../parts/pager'
import { describeFilter } from './queue-filters'

/** The active filters. Each is a link that removes the filter. */
export const FilterChips = ({ filters }: { filters: Filter[] }) => {
  const [query, changed] = useQuery()
  const active = filters.filter(({ name }) => name !== 'sort' && query.get(name))
  if (active.length === 0) return null
  return (
    <ul class="chips" aria-label="Active filters">
      {active.map((filter) => (
        <li key={filter.name}>
          <Link class="chip" href={changed({ [filter.name]: '' })}>
            <span class="unseen">Remove the filter </span>
            <span class="cut">{describeFilter(filter, query.get(filter.name)!)}</span>
            <span aria-hidden="true">×</span>
          </Link>
        </li>
      ))}
    </ul>
  )
}
