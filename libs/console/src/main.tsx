import { render } from 'preact'
import { checkAccess, consolePath } from './api'
import { App } from './app'
import iconUrl from './icon.svg'
import { access, holdLink } from './session'
import { openPortal } from './sign-in'

// Makes the icon's URL absolute. A browser may load the icon again after the URL of the page has changed. A
// relative URL would then lead to another address.
document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href = iconUrl

const LINK = /^#(portal|sign-in)=(.+)$/
const [, kind, secret] = LINK.exec(location.hash) ?? []
if (secret) {
  // Removes the secret of a link from the page's URL before the secret is used.
  history.replaceState(null, '', consolePath)
  if (kind === 'portal') await openPortal(secret)
  else holdLink(secret)
}
// Reloads if the user pastes a link into the open console: a new fragment alone loads no page.
addEventListener('hashchange', () => {
  if (LINK.test(location.hash)) location.reload()
})
if (access.value.state === 'checking') void checkAccess()
render(<App />, document.body)
