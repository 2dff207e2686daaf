import { useSignalEffect } from '@preact/signals'
import { useState } from 'preact/hooks'
import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter-preact'
import { asProblem, consolePath, loadScopes, Problem, type Scope } from './api'
import iconUrl from './icon.svg'
import { PAGES } from './pages'
import { SignIn } from './pages/sign-in'
import { Freshness } from './parts/live'
import { Notices } from './parts/notices'
import { Failure, Loading } from './parts/page'
import { signOut, token } from './session'

/** Returns the pages of the navigation that the token's scopes allow. */
const listNavPages = (held: Set<Scope>) =>
  PAGES.filter(({ nav, scopes }) => nav && scopes.some((scope) => held.has(scope)))

const Navigation = ({ scopes }: { scopes: Set<Scope> }) => {
  const [path] = useLocation()
  return (
    <nav aria-label="Console">
      {listNavPages(scopes).map(({ nav, path: to }) => (
        <Link key={to} href={to} aria-current={`${path}/`.startsWith(`${to}/`) ? 'page' : undefined}>
          {nav}
        </Link>
      ))}
    </nav>
  )
}

const Pages = ({ scopes }: { scopes: Set<Scope> }) => {
  const [first] = listNavPages(scopes)
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
              title: 'Not found',
              detail: 'The console has no such page, or the token does not allow any page.',
            })
          }
        />
      </Route>
    </Switch>
  )
}

/**
 * Loads the scopes of the current token. Returns undefined until they are loaded, and the problem if they
 * cannot be loaded.
 */
const useScopes = () => {
  const [loaded, setLoaded] = useState<Set<Scope> | Problem>()
  useSignalEffect(() => {
    setLoaded(undefined)
    const loading = token.value
    if (loading === null) return
    const keep = (result: Set<Scope> | Problem) => {
      if (token.value === loading) setLoaded(result)
    }
    loadScopes().then(keep, (error) => keep(asProblem(error)))
  })
  return loaded
}

const Main = ({ isSignedIn, scopes }: { isSignedIn: boolean; scopes: Set<Scope> | Problem | undefined }) => {
  if (!isSignedIn) return <SignIn />
  if (scopes instanceof Set) return <Pages scopes={scopes} />
  if (scopes instanceof Problem) return <Failure problem={scopes} />
  return <Loading />
}

export const App = () => {
  const scopes = useScopes()
  const isSignedIn = token.value !== null
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
        {isSignedIn && scopes instanceof Set && <Navigation scopes={scopes} />}
        {isSignedIn && <Freshness />}
        {isSignedIn && (
          <button class="quiet" type="button" onClick={() => signOut()}>
            Sign out
          </button>
        )}
      </header>
      <Notices />
      <main id="main" tabIndex={-1}>
        <Main isSignedIn={isSignedIn} scopes={scopes} />
      </main>
    </Router>
  )
}
