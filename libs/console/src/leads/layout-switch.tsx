import { Link } from 'wouter-preact'
import { useQuery } from '../parts/pager'

const LAYOUTS = [
  ['', 'List'],
  ['board', 'Board'],
] as const

/** Switches between the list and the board. */
export const LayoutSwitch = () => {
  const [query, changed] = useQuery()
  const current = query.get('layout') === 'board' ? 'board' : ''
  return (
    <nav aria-label="Layout" class="tabs">
      {LAYOUTS.map(([layout, label]) => (
        <Link key={label} href={changed({ layout })} aria-current={layout === current ? 'page' : undefined}>
          {label}
        </Link>
      ))}
    </nav>
  )
}
