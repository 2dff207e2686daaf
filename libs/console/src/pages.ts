import { SCOPES } from '@leadwire/contracts/scopes'
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
import { Home } from './pages/home'
import { Import } from './pages/import'
import { Imports } from './pages/imports'
import { Lead } from './pages/lead'
import { Leads } from './pages/leads'
import { Me } from './pages/me'
import { Notification } from './pages/notification'
import { Notifications } from './pages/notifications'
import { Replay } from './pages/replay'
import { Tokens } from './pages/tokens'
import { Users } from './pages/users'
import type { PageProps } from './parts/page'

export interface Page {
  /** The path below /console. `:id` is passed to the component. The first matching page is shown. */
  path: string
  /** The page requires one of these scopes. */
  scopes: readonly Scope[]
  /** The name in the navigation. Absent if the navigation does not list the page. */
  nav?: string
  component: ComponentType<PageProps>
}

/** All pages. A user starts at the first page with a `nav` that their scopes allow. */
export const PAGES: Page[] = [
  { path: '/home', scopes: ['leads:read', 'manage:read'], nav: 'Home', component: Home },
  { path: '/endpoints', scopes: ['webhooks', 'manage:read'], nav: 'Endpoints', component: Endpoints },
  { path: '/endpoints/new', scopes: ['webhooks'], component: NewEndpoint },
  { path: '/endpoints/:id', scopes: ['webhooks', 'manage:read'], component: Endpoint },
  { path: '/endpoints/:id/edit', scopes: ['webhooks'], component: EditEndpoint },
  { path: '/endpoints/:id/replay', scopes: ['webhooks'], component: Replay },
  { path: '/deliveries', scopes: ['webhooks', 'manage:read'], nav: 'Deliveries', component: Deliveries },
  { path: '/deliveries/:id', scopes: ['webhooks', 'manage:read'], component: Delivery },
  { path: '/leads', scopes: ['leads:read'], nav: 'Leads', component: Leads },
  { path: '/leads/:id', scopes: ['leads:read'], component: Lead },
  { path: '/notifications', scopes: ['manage:read'], nav: 'Notifications', component: Notifications },
  { path: '/notifications/:id', scopes: ['manage:read'], component: Notification },
  { path: '/imports', scopes: ['manage:read'], nav: 'Imports', component: Imports },
  { path: '/imports/:id', scopes: ['manage:read'], component: Import },
  { path: '/exports', scopes: ['manage:read'], nav: 'Exports', component: Exports },
  { path: '/users', scopes: ['manage:read'], nav: 'Users', component: Users },
  { path: '/tokens', scopes: ['manage:read'], nav: 'Tokens', component: Tokens },
  { path: '/audit', scopes: ['manage:read'], nav: 'Audit log', component: Audit },
  { path: '/account', scopes: ['manage:read'], nav: 'Account', component: Account },
  { path: '/me', scopes: SCOPES, component: Me },
]
