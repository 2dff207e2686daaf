import { render } from 'preact'
import { consolePath } from './api'
import { App } from './app'
import iconUrl from './icon.svg'

// The address changes with each page, and a browser may ask for the icon again, relative to the new one.
document.querySelector<HTMLLinkElement>('link[rel=icon]')!.href = iconUrl
// Addresses of the console before 0.3 had the place behind a #.
if (location.hash.startsWith('#/')) history.replaceState(null, '', consolePath + location.hash.slice(1))
render(<App />, document.body)
