import { Link, Redirect, Route, Router, Switch, useLocation } from 'wouter-preact'
import { checkAccess, consolePath, type Me, ownScopes, Problem, type Scope } from './api'
import iconUrl from './icon.svg'
import { PAGES } from './pages'
import { ChooseAccount } from './pages/choose-account'
import { OpenLink } from './pages/open-link'
import { SignIn } from './pages/sign-in'
import { Action } from './parts/action'
import { Freshness } from './parts/live'
import { Notices } from './parts/notices'
import { Failure, Loading } from './parts/page'
import { SignInDialog } from './parts/sign-in-dialog'
import { access, askAgain, me } from './session'
import { signOut } from './sign-in'

/** Returns the pages of the navigation that the scopes allow. */
const listNavPages = (held: Set<Scope>) =>
  PAGES.filter(({ nav, scopes }) => nav && scopes.some((scope) => held.has(scope)))

const Navigation = () => {
  const [path] = useLocation()
  return (
    <nav aria-label="Console">
      {listNavPages(ownScopes.value).map(({ nav, path: to }) => (
        <Link key={to} href={to} aria-current={`${path}/`.startsWith(`${to}/`) ? 'page' : undefined}>
          {nav}
        </Link>
      ))}
    </nav>
  )
}

/** The account and the user or token that is signed in, with the button that signs out. */
const SignedIn = ({ me: { type, name, account } }: { me: Me }) => {
  if (access.value.state === 'ended') {
    return (
      <button class="quiet" type="button" onClick={askAgain}>
        Sign in
      </button>
    )
  }
  return (
    <>
      <p class="who">
        <span class="faint">{account.name}</span>
        {type === 'user' ? (
          <Link href="/me" title="Your sessions">
            {name}
          </Link>
        ) : (
          <span>{name}</span>
        )}
      </p>
      <Action label="Sign out" quiet run={signOut} />
    </>
  )
}

const createForbidden = (needed: Scope) =>
  new Problem(403, {
    title: 'Forbidden',
    detail:
      me.value?.type === 'user'
        ? 'Your role does not allow this page. An admin can change your role.'
        : `The token lacks the scope ${needed}.`,
  })

const Pages = () => {
  const scopes = ownScopes.value
  const [first] = listNavPages(scopes)
  return (
    <Switch>
      {PAGES.map(({ path, scopes: needed, component: Component }) => (
        <Route key={path} path={path}>
          {({ id = '' }: { id?: string }) =>
            needed.some((scope) => scopes.has(scope)) ? (
              <Component key={id} id={id} scopes={scopes} />
            ) : (
              <Failure problem={createForbidden(needed[0]!)} />
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
              detail: 'The console has no such page, or you may not open any page.',
            })
          }
        />
      </Route>
    </Switch>
  )
}

const Main = () => {
  const { value } = access
  switch (value.state) {
    case 'checking':
      return <Loading />
    case 'failed':
      return <Failure problem={value.problem} again={checkAccess} />
    case 'out':
      return <SignIn because={value.because} />
    case 'link':
      return <OpenLink secret={value.secret} />
    case 'choice':
      return <ChooseAccount choices={value.choices} />
    default:
      return <Pages />
  }
}

export const App = () => (
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
      {me.value && (
        <>
          <Navigation />
          <Freshness />
          <SignedIn me={me.value} />
        </>
      )}
    </header>
    <Notices />
    <main id="main" tabIndex={-1}>
      <Main />
    </main>
    <SignInDialog />
  </Router>
)
