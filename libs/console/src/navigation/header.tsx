import { Link } from 'wouter-preact'
import iconUrl from '../icon.svg'
import { Freshness } from '../parts/live'
import { me } from '../session'
import { Drawer } from './drawer'
import { JumpButton } from './jump'
import { Navigation } from './navigation'
import { Person } from './person'

/**
 * A sidebar on a wide screen. On a narrow screen a bar, which shows the navigation in a drawer. The CSS hides
 * the parts that the other form has.
 */
export const Header = () => (
  <header>
    <div class="bar">
      {me.value && <Drawer me={me.value} />}
      <Link class="brand" href="/">
        <img src={iconUrl} alt="" width="28" height="28" />
        <span>
          Leadwire <em>console</em>
        </span>
      </Link>
      {me.value && (
        <>
          <p class="account">{me.value.account.name}</p>
          <JumpButton />
          <Navigation />
          <Freshness />
          <Person me={me.value} />
        </>
      )}
    </div>
  </header>
)
