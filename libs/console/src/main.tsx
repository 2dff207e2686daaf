import { render } from 'preact'
import { consolePath, openPortal } from './api'
import { App } from './app'
import iconUrl from './icon.svg'

// The address changes with each page, and a browser may ask for the icon again, relative to the new one.
document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href = iconUrl
// Addresses of the console before 0.3 had the place behind a #.
if (location.hash.startsWith('#/')) history.replaceState(null, '', consolePath + location.hash.slice(1))
// The secret of a portal link must not stay in the address.
const link = /^#portal=(.+)$/.exec(location.hash)?.[1]
if (link) {
  history.replaceState(null, '', consolePath)
  await openPortal(link)
}
// A link that is pasted where only the part behind the # differs loads no page.
addEventListener('hashchange', () => location.hash.startsWith('#portal=') && location.reload())
render(<App />, document.body)
