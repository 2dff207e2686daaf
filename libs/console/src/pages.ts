import type { ComponentType } from 'preact'
import type { Scope } from './api'
import { Endpoints } from './pages/endpoints'

export interface Page {
  /** Below /console; `:id` reaches the component. The first that matches is shown. */
  path: string
  /** What a token needs for it. */
  scope: Scope
  /** Its name in the navigation; absent where another page leads to it. */
  nav?: string
  component: ComponentType<{ id: string }>
}

/** Every page. The first with a name that the token's scopes allow is where a reader starts. */
export const PAGES: Page[] = [{ path: '/endpoints', scope: 'manage', nav: 'Endpoints', component: Endpoints }]
