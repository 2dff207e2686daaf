import type { ComponentType } from 'preact'
import type { Scope } from './api'
import { Account } from './pages/account'
import { Audit } from './pages/audit'
import { Deliveries } from './pages/deliveries'
import { Delivery } from './pages/delivery'
import { Endpoint } from './pages/endpoint'
import { EditEndpoint, NewEndpoint } from './pages/endpoint-form'
import { Endpoints } from './pages/endpoints'
import { Exports } from './pages/exports'
import { Import } from './pages/import'
import { Imports } from './pages/imports'
import { Lead } from './pages/lead'
import { Leads } from './pages/leads'
import { Notification } from './pages/notification'
import { Notifications } from './pages/notifications'
import { Tokens } from './pages/tokens'
import { Users } from './pages/users'
import type { PageProps } from './parts/page'

export interface Page {
  /** Below /console; `:id` reaches the component. The first that matches is shown. */
  path: string
  /** What a token needs for it. */
  scope: Scope
  /** Its name in the navigation; absent where another page leads to it. */
  nav?: string
  component: ComponentType<PageProps>
}

/** Every page. The first with a name that the token's scopes allow is where a reader starts. */
export const PAGES: Page[] = [
  { path: '/endpoints', scope: 'manage', nav: 'Endpoints', component: Endpoints },
  { path: '/endpoints/new', scope: 'manage', component: NewEndpoint },
  { path: '/endpoints/:id', scope: 'manage', component: Endpoint },
  { path: '/endpoints/:id/edit', scope: 'manage', component: EditEndpoint },
  { path: '/deliveries', scope: 'manage', nav: 'Deliveries', component: Deliveries },
  { path: '/deliveries/:id', scope: 'manage', component: Delivery },
  { path: '/leads', scope: 'leads:read', nav: 'Leads', component: Leads },
  { path: '/leads/:id', scope: 'leads:read', component: Lead },
  { path: '/notifications', scope: 'manage', nav: 'Notifications', component: Notifications },
  { path: '/notifications/:id', scope: 'manage', component: Notification },
  { path: '/imports', scope: 'manage', nav: 'Imports', component: Imports },
  { path: '/imports/:id', scope: 'manage', component: Import },
  { path: '/exports', scope: 'manage', nav: 'Exports', component: Exports },
  { path: '/users', scope: 'manage', nav: 'Users', component: Users },
  { path: '/tokens', scope: 'manage', nav: 'Tokens', component: Tokens },
  { path: '/audit', scope: 'manage', nav: 'Audit log', component: Audit },
  { path: '/account', scope: 'manage', nav: 'Account', component: Account },
]
