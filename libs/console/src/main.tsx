import { render } from 'preact'
import { consolePath, openPortal } from './api'
import { App } from './app'
import iconUrl from './icon.svg'

// Makes the icon's URL absolute. A browser may load the icon again after the URL of the page has changed. A
// relative URL would then lead to another address.
document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href = iconUrl
// Removes the secret of a portal link from the page's URL before `openPortal` exchanges the secret for a
// session.
const portalSecret = /^#portal=(.+)$/.exec(location.hash)?.[1]
if (portalSecret) {
  history.replaceState(null, '', consolePath)
  await openPortal(portalSecret)
}
// Reloads if the user pastes a portal link into the open console: a new fragment alone loads no page.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#portal=')) location.reload()
})
render(<App />, document.body)
