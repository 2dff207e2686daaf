import { Redirect, Route, Router, Switch } from 'wouter-preact'
import { checkAccess, consolePath, ownScopes, Problem, type Scope } from './api'
import { Header } from './navigation/header'
import { listNavPages } from './navigation/list-nav-pages'
import { PAGES } from './pages'
import { ChooseAccount } from './pages/choose-account'
import { OpenLink } from './pages/open-link'
import { SignIn } from './pages/sign-in'
import { Notices } from './parts/notices'
import { Failure, Loading } from './parts/page'
import { SignInDialog } from './parts/sign-in-dialog'
import { access, me } from './session'

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
    <div class={me.value ? 'frame with-sidebar' : 'frame'}>
      <Header />
      <main id="main" tabIndex={-1}>
        <Main />
      </main>
    </div>
    <Notices />
    <SignInDialog />
  </Router>
)
