import { useId } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { ownScopes } from '../api'
import { listNavGroups, type NavGroup } from './list-nav-pages'

const Group = ({ group: { name, pages } }: { group: NavGroup }) => {
  const id = useId()
  const [path] = useLocation()
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms.
    <div role="group" aria-labelledby={id}>
      <div id={id} class="group-name">
        {name}
      </div>
      {pages.map(({ nav, path: to }) => (
        <Link key={to} href={to} aria-current={`${path}/`.startsWith(`${to}/`) ? 'page' : undefined}>
          {nav.name}
        </Link>
      ))}
    </div>
  )
}

/** Links to the pages that the scopes allow, in groups. */
export const Navigation = () => (
  <nav class="navigation" aria-label="Console">
    {listNavGroups(ownScopes.value).map((group) => (
      <Group key={group.name} group={group} />
    ))}
  </nav>
)
