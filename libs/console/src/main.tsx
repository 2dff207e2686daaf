import { render } from 'preact'
import { checkAccess, consolePath } from './api'
import { App } from './app'
import iconUrl from './icon.svg'
import { access, holdLink } from './session'
import { openPortal } from './sign-in'
import { chooseAccount, openAtOnce, showFailure, takePage } from './single-sign-on'

// Makes the icon's URL absolute. A browser may load the icon again after the URL of the page has changed. A
// relative URL would then lead to another address.
document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href = iconUrl

const openPortalLink = async (secret: string) => {
  history.replaceState(null, '', consolePath)
  await openPortal(secret)
}

const askToOpenLink = (secret: string) => {
  history.replaceState(null, '', consolePath)
  holdLink(secret)
}

/** Returns from the identity provider to the page that the person has left. */
const comeBack = (open: (value: string) => void | Promise<void>) => async (value: string) => {
  history.replaceState(null, '', takePage())
  await open(value)
}

// The functions remove the secret of a link from the page's URL before they use the secret.
const LINKS: [pattern: RegExp, open: (value: string) => void | Promise<void>][] = [
  [/^#portal=(.+)$/, openPortalLink],
  [/^#sign-in=(.+)&now$/, comeBack(openAtOnce)],
  [/^#sign-in=(.+)$/, askToOpenLink],
  [/^#choose=(.+)$/, comeBack(chooseAccount)],
  [/^#sign-in-failed=(.+)$/, comeBack(showFailure)],
]
const findLink = () => LINKS.find(([pattern]) => pattern.test(location.hash))

const link = findLink()
if (link) {
  const [pattern, open] = link
  await open(pattern.exec(location.hash)![1]!)
}
// Reloads if the user pastes a link into the open console: a new fragment alone loads no page.
addEventListener('hashchange', () => {
  if (findLink()) location.reload()
})
if (access.value.state === 'checking') void checkAccess()
render(<App />, document.body)
