import { Link } from 'wouter-preact'
import { formatNumber } from '../parts/format'
import { useQuery } from '../parts/pager'
import type { LeadPage } from './managed-leads'

/** Describes the place of a page in the list, such as "1–20 of 316". Undefined if the page has no place. */
export const describeRange = ({ from, to, total, total_capped }: LeadPage): string | undefined => {
  if (!from || !to || total === undefined) return undefined
  const range = `${formatNumber(from)}–${formatNumber(to)}`
  return `${range} of ${total_capped ? 'more than ' : ''}${formatNumber(total)}`
}

/** The links to the previous and the next page. Behind a capped total, pages are read with a cursor. */
export const QueuePager = ({ page }: { page: LeadPage }) => {
  const [query, changed] = useQuery()
  const { current_page: number, next_page_url: hasNext, next_cursor: cursor } = page
  const previous = number !== undefined && number > 1 && changed({ page: String(number - 1) })
  const next = hasNext && changed({ page: String(number! + 1) })
  const further = !hasNext && cursor && changed({ cursor })
  const hasCursor = query.get('cursor') !== null
  if (!next && !further && !previous && !hasCursor) return null
  return (
    <nav class="paging" aria-label="Pages">
      {hasCursor && (
        <Link class="step" href={changed({})}>
          First
        </Link>
      )}
      {previous && (
        <Link class="step" href={previous}>
          Previous
        </Link>
      )}
      {next && (
        <Link class="step" href={next}>
          Next
        </Link>
      )}
      {further && (
        <Link class="step" href={further}>
          Search further
        </Link>
      )}
    </nav>
  )
}
