import { useSignalEffect } from '@preact/signals'
import { useState } from 'preact/hooks'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter-preact'
import { asProblem, consolePath, findScopes, Problem, type Scope } from './api'
import iconUrl from './icon.svg'
import { PAGES } from './pages'
import { SignIn } from './pages/sign-in'
import { Freshness } from './parts/live'
import { Notices } from './parts/notices'
import { Failure, Loading } from './parts/page'
import { signOut, token } from './session'

/** The pages of the navigation that the token allows. */
const navOf = (held: Set<Scope>) =>
  PAGES.filter(({ nav, scopes }) => nav && scopes.some((scope) => held.has(scope)))

const Navigation = ({ scopes }: { scopes: Set<Scope> }) => {
  const [path] = useLocation()
  return (
    <nav aria-label="Console">
      {navOf(scopes).map(({ nav, path: to }) => (
        <Link key={to} href={to} aria-current={`${path}/`.startsWith(`${to}/`) ? 'page' : undefined}>
          {nav}
        </Link>
      ))}
    </nav>
  )
}

const Pages = ({ scopes }: { scopes: Set<Scope> }) => {
  const [first] = navOf(scopes)
  return (
    <Switch>
      {PAGES.map(({ path, scopes: needed, component: Component }) => (
        <Route key={path} path={path}>
          {({ id = '' }: { id?: string }) =>
            needed.some((scope) => scopes.has(scope)) ? (
              <Component key={id} id={id} scopes={scopes} />
            ) : (
              <Failure
                problem={
                  new Problem(403, { title: 'Forbidden', detail: `The token lacks the scope ${needed[0]}.` })
                }
              />
            )
          }
        </Route>
      ))}
      {first && (
        <Route path="/">
          <Redirect to={first.path} replace />
        </Route>
      )}
      <Route>
        <Failure
          problem={
            new Problem(404, {
              title: 'Nothing here',
              detail: 'The console has no such page for this token.',
            })
          }
        />
      </Route>
    </Switch>
  )
}

/** What the token allows, once the API has said it. */
const useScopes = () => {
  const [found, setFound] = useState<Set<Scope> | Problem>()
  useSignalEffect(() => {
    setFound(undefined)
    const asked = token.value
    if (asked === null) return
    const keep = (result: Set<Scope> | Problem) => token.value === asked && setFound(result)
    findScopes().then(keep, (error) => keep(asProblem(error)))
  })
  return found
}

export const App = () => {
  const scopes = useScopes()
  const isSignedIn = token.value !== null
  const allowed = scopes instanceof Set ? scopes : undefined
  return (
    <Router base={consolePath}>
      <a class="skip" href="#main">
        Skip to the content
      </a>
      <header class="bar">
        <Link class="brand" href="/">
          <img src={iconUrl} alt="" width="28" height="28" />
          <span>
            Leadwire <em>console</em>
          </span>
        </Link>
        {isSignedIn && allowed && <Navigation scopes={allowed} />}
        {isSignedIn && <Freshness />}
        {isSignedIn && (
          <button class="quiet" type="button" onClick={() => signOut()}>
            Sign out
          </button>
        )}
      </header>
      <Notices />
      <main id="main" tabIndex={-1}>
        {!isSignedIn ? (
          <SignIn />
        ) : allowed ? (
          <Pages scopes={allowed} />
        ) : scopes instanceof Problem ? (
          <Failure problem={scopes} />
        ) : (
          <Loading />
        )}
      </main>
    </Router>
  )
}
