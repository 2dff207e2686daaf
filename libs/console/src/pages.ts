import type { ComponentType } from 'preact'
import type { Scope } from './api'
import { Deliveries } from './pages/deliveries'
import { Delivery } from './pages/delivery'
import { Endpoint } from './pages/endpoint'
import { EditEndpoint, NewEndpoint } from './pages/endpoint-form'
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
export const PAGES: Page[] = [
  { path: '/endpoints', scope: 'manage', nav: 'Endpoints', component: Endpoints },
  { path: '/endpoints/new', scope: 'manage', component: NewEndpoint },
  { path: '/endpoints/:id', scope: 'manage', component: Endpoint },
  { path: '/endpoints/:id/edit', scope: 'manage', component: EditEndpoint },
  { path: '/deliveries', scope: 'manage', nav: 'Deliveries', component: Deliveries },
  { path: '/deliveries/:id', scope: 'manage', component: Delivery },
]
