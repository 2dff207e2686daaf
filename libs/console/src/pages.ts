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
import { Forms } from './pages/forms'
import { Home } from './pages/home'
import { Import } from './pages/import'
import { Imports } from './pages/imports'
import { Lead } from './pages/lead'
import { Leads } from './pages/leads'
import { Me } from './pages/me'
import { NewLead } from './pages/new-lead'
import { Notification } from './pages/notification'
import { Notifications } from './pages/notifications'
import { Replay } from './pages/replay'
import { Tokens } from './pages/tokens'
import { Users } from './pages/users'
import type { PageProps } from './parts/page'

/**
 * The groups of the navigation, in their order.
 *
 * Notifications belong to the settings. They are e-mails to the account's own people: sign-in links,
 * invitations, and news about leads and endpoints. An admin looks there, and then at the users, when someone
 * has got no e-mail. Salespeople may not read notifications, and no endpoint receives them.
 */
export const NAV_GROUPS = ['Sales', 'Webhooks', 'Settings'] as const

export interface Page {
  /** The path below /console. `:id` is passed to the component. The first matching page is shown. */
  path: string
  /** The page requires one of these scopes. */
  scopes: readonly Scope[]
  /** The group and the name in the navigation. Absent if the navigation does not list the page. */
  nav?: { group: (typeof NAV_GROUPS)[number]; name: string }
  component: ComponentType<PageProps>
}

/** The scopes of the pages about endpoints and deliveries. */
const READS_WEBHOOKS = ['webhooks', 'manage:read'] as const

/**
 * All pages. A user starts at the first page with a `nav` that their scopes allow. Imports and exports come
 * after the endpoints, so that a token that may not read leads starts at the endpoints.
 */
export const PAGES: Page[] = [
  {
    path: '/home',
    scopes: ['leads:read', 'manage:read'],
    nav: { group: 'Sales', name: 'Home' },
    component: Home,
  },
  { path: '/leads', scopes: ['leads:read'], nav: { group: 'Sales', name: 'Leads' }, component: Leads },
  { path: '/leads/new', scopes: ['leads'], component: NewLead },
  { path: '/leads/:id', scopes: ['leads:read'], component: Lead },
  {
    path: '/endpoints',
    scopes: READS_WEBHOOKS,
    nav: { group: 'Webhooks', name: 'Endpoints' },
    component: Endpoints,
  },
  { path: '/endpoints/new', scopes: ['webhooks'], component: NewEndpoint },
  { path: '/endpoints/:id', scopes: READS_WEBHOOKS, component: Endpoint },
  { path: '/endpoints/:id/edit', scopes: ['webhooks'], component: EditEndpoint },
  { path: '/endpoints/:id/replay', scopes: ['webhooks'], component: Replay },
  {
    path: '/deliveries',
    scopes: READS_WEBHOOKS,
    nav: { group: 'Webhooks', name: 'Deliveries' },
    component: Deliveries,
  },
  { path: '/deliveries/:id', scopes: READS_WEBHOOKS, component: Delivery },
  { path: '/imports', scopes: ['manage:read'], nav: { group: 'Sales', name: 'Imports' }, component: Imports },
  { path: '/imports/:id', scopes: ['manage:read'], component: Import },
  { path: '/exports', scopes: ['manage:read'], nav: { group: 'Sales', name: 'Exports' }, component: Exports },
  { path: '/users', scopes: ['manage:read'], nav: { group: 'Settings', name: 'Users' }, component: Users },
  {
    path: '/forms',
    scopes: ['manage:read'],
    nav: { group: 'Settings', name: 'Website forms' },
    component: Forms,
  },
  { path: '/tokens', scopes: ['manage:read'], nav: { group: 'Settings', name: 'Tokens' }, component: Tokens },
  {
    path: '/notifications',
    scopes: ['manage:read'],
    nav: { group: 'Settings', name: 'Notifications' },
    component: Notifications,
  },
  { path: '/notifications/:id', scopes: ['manage:read'], component: Notification },
  {
    path: '/audit',
    scopes: ['manage:read'],
    nav: { group: 'Settings', name: 'Audit log' },
    component: Audit,
  },
  {
    path: '/account',
    scopes: ['manage:read'],
    nav: { group: 'Settings', name: 'Account' },
    component: Account,
  },
  { path: '/me', scopes: SCOPES, component: Me },
]
