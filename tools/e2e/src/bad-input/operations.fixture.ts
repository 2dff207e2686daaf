import { LEAD_REFERRERS, LEAD_STATUSES, VISITOR_REFERRERS } from '@leadwire/contracts'
import {
  boolean,
  decimal,
  email,
  id,
  instant,
  integer,
  ip,
  type Kind,
  listOf,
  localDateTime,
  object,
  oneOf,
  optional,
  phone,
  postcode,
  required,
  text,
  webUrl,
} from './kinds.fixture'
import type { World } from './world.fixture'

export type Operation = {
  name: string
  method: 'POST' | 'PATCH'
  path: (world: World) => string
  /** A body that is taken as it is. */
  body: (world: World) => Record<string, unknown>
  /** Every field by its dotted path. */
  fields: Record<string, Kind>
}

const MAX_INT4 = 2_147_483_647
const SAFE = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }

const userId = id({ known: (world) => world.userId })

const customerBody = () => ({
  name: 'New windows',
  first_name: 'Ada',
  last_name: 'Lovelace',
  company_name: 'Analytical Engines Ltd',
  email: 'ada@b.example',
  phone: '020 7946 0123',
  mobile: '07700 900123',
  postcode: 'SW1A 1AA',
  referrer: 'Website',
  status: 'open',
})

const customerFields = {
  name: required(text()),
  first_name: required(text()),
  last_name: required(text()),
  company_name: optional(text()),
  email: required(email),
  phone: required(phone),
  mobile: optional(phone),
  postcode: required(postcode),
  status: required(oneOf(LEAD_STATUSES, ['Open', 'closed', 'won', 'callback'])),
  user_id: optional(userId),
}

export const createLead: Operation = {
  name: 'Create Lead',
  method: 'POST',
  path: () => '/leads',
  body: (world) => ({ ...customerBody(), user_id: world.userId }),
  fields: { ...customerFields, referrer: required(oneOf(LEAD_REFERRERS, ['Direct', 'Google', 'Other'])) },
}

export const updateLead: Operation = {
  name: 'Update Lead',
  method: 'PATCH',
  path: (world) => `/leads/${world.reference}`,
  body: (world) => ({ value: 4500, status: 'sold', user_email: world.userEmail, notify: false }),
  fields: {
    value: optional(integer({ min: 0, max: MAX_INT4 })),
    status: optional(oneOf(LEAD_STATUSES)),
    user_email: optional({
      wrong: [
        ...email.wrong,
        { what: 'nobody of ours', value: 'nobody@b.example' },
        { what: "another account's user", value: (world: World) => world.other.userEmail },
      ],
      right: [{ what: 'a known user', value: (world: World) => world.userEmail }],
    }),
    notify: optional(boolean),
  },
}

const scheduling = (name: string, path: string): Operation => ({
  name,
  method: 'POST',
  path: (world) => `/leads/${world.reference}/${path}`,
  body: (world) => ({ notify: false, user_id: world.userId, date: '24/12/2026 14:30' }),
  fields: { notify: required(boolean), user_id: required(userId), date: required(localDateTime) },
})

export const scheduleAppointment = scheduling('Schedule Appointment', 'appointments')
export const scheduleCallback = scheduling('Schedule Callback', 'callbacks')

const item = (world: World) => ({
  product_style_id: 12,
  name: 'Kitchen window',
  price: 45_900,
  cost: 30_000,
  margin: 0.25,
  tax: 9180,
  minimum: 40_000.5,
  maximum: 50_000,
  format: 'range',
  hidden: false,
  status: 'active',
  options: { width: 1200, height: 900, glass: 'Clear' },
  product_style: { sku: 'CAS-2', name: 'Casement', product: { name: 'Window' } },
  image_id: world.imageId,
})

const option: Kind = {
  wrong: [true, null, [], {}, ['Clear'], 'a'.repeat(256), 'a\0', '\ud800'].map((value) => ({
    what: JSON.stringify(value).slice(0, 40),
    value,
  })),
  right: [5, -0.5, 'Clear', '', 'a'.repeat(255)].map((value) => ({
    what: JSON.stringify(value).slice(0, 40),
    value,
  })),
}

const within = (path: string, fields: Record<string, Kind>) =>
  Object.fromEntries(Object.entries(fields).map(([name, kind]) => [`${path}.${name}`, kind]))

export const createVisitorLead: Operation = {
  name: 'a visitor lead',
  method: 'POST',
  path: () => '/manage/leads',
  body: (world) => ({
    ...customerBody(),
    user_id: world.userId,
    value: 4500,
    description: 'After six.',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/145.0',
    ip: '203.0.113.7',
    referrer_url: 'https://search.example/?q=windows',
    test: false,
    quotes: [{ status: 'complete', items: [item(world)] }],
  }),
  fields: {
    ...customerFields,
    referrer: required(oneOf(VISITOR_REFERRERS, ['Google'])),
    value: optional(integer({ min: 0, max: MAX_INT4 })),
    description: optional(text({ max: 10_000 })),
    user_agent: optional(text({ max: 1024 })),
    ip: optional(ip),
    referrer_url: optional(text({ max: 2048 })),
    test: optional(boolean),
    quotes: optional(listOf(20, {})),
    'quotes.0': { ...object, wrong: [...object.wrong, { what: 'null', value: null }] },
    'quotes.0.status': optional(text()),
    'quotes.0.items': optional(object),
    'quotes.0.items.0': { ...object, wrong: [...object.wrong, { what: 'null', value: null }] },
    ...within('quotes.0.items.0', {
      product_style_id: required(integer({ min: 1, max: SAFE.max })),
      name: required(text()),
      price: required(integer(SAFE)),
      cost: optional(integer(SAFE)),
      margin: optional(decimal),
      tax: optional(integer(SAFE)),
      minimum: optional(decimal),
      maximum: optional(decimal),
      format: optional(text()),
      hidden: optional(boolean),
      status: optional(text()),
      options: optional(object),
      'options.glass': option,
      image_id: required({
        ...id({ known: (world) => world.imageId }),
        wrong: [
          ...id({ known: () => 0 }).wrong,
          { what: "another account's image", value: (world: World) => world.other.imageId },
        ],
      }),
      product_style: { ...object, wrong: object.wrong },
      'product_style.sku': required(text()),
      'product_style.name': required(text()),
      'product_style.product.name': required(text()),
    }),
  },
}
createVisitorLead.fields['quotes.0.items'] = optional({
  wrong: listOf(100, {}).wrong.slice(0, 5),
  right: [{ what: '[]', value: [] }],
})

const freeEmail: Kind = {
  wrong: [
    ...email.wrong,
    { what: 'one that is there', value: (world: World) => world.userEmail },
    { what: 'one that is there in capitals', value: (world: World) => world.userEmail.toUpperCase() },
  ],
  right: [],
}

export const createUser: Operation = {
  name: 'a user',
  method: 'POST',
  path: () => '/manage/users',
  body: (world) => ({ email: world.freshEmail(), name: 'Grace Hopper' }),
  fields: { email: required(freeEmail), name: required(text()) },
}

export const createToken: Operation = {
  name: 'a token',
  method: 'POST',
  path: () => '/manage/tokens',
  body: () => ({ name: 'Website form', scopes: ['leads'], expires_at: '2090-01-01T00:00:00Z', test: true }),
  fields: {
    name: required(text()),
    scopes: required({
      wrong: [{}, 'leads', 5, true, [], Array.from({ length: 11 }, () => 'leads')].map((value) => ({
        what: JSON.stringify(value).slice(0, 40),
        value,
      })),
      right: [
        ...[['leads'], ['leads:read'], ['leads:create'], ['events:read'], ['webhooks'], ['manage:read']],
        ...[['manage'], ['leads', 'leads:read', 'manage']],
      ].map((value) => ({
        what: value.join(),
        value,
      })),
    }),
    'scopes.0': {
      wrong: [
        ...oneOf(['leads', 'leads:read', 'manage'], ['admin', '*', 'write', 'portal-link']).wrong,
        { what: 'null', value: null },
      ],
      right: [],
    },
    expires_at: optional(instant),
    // The specs of publishable tokens try what else is sound.
    publishable: { wrong: boolean.wrong, right: [] },
    return_url: { wrong: webUrl.wrong, right: [] },
    honeypot: { wrong: text({ max: 40 }).wrong, right: [] },
    test: optional(boolean),
  },
}

export const createEndpoint: Operation = {
  name: 'a webhook endpoint',
  method: 'POST',
  path: () => '/manage/webhook-endpoints',
  // Disabled, so that nothing of these specs is sent to it.
  body: () => ({
    url: 'https://hooks.example/leads',
    description: 'CRM',
    enabled: false,
    secret: 'a long random text',
  }),
  fields: {
    url: required(webUrl),
    description: optional(text()),
    enabled: optional(boolean),
    secret: optional({
      wrong: [
        ...text().wrong,
        ...['short', '1234567', 'tab\tinside'].map((value) => ({ what: value, value })),
      ],
      right: [{ what: 'sixteen characters', value: '0123456789abcdef' }],
    }),
  },
}

export const updateEndpoint: Operation = {
  name: 'a change of a webhook endpoint',
  method: 'PATCH',
  path: (world) => `/manage/webhook-endpoints/${world.idleEndpointId}`,
  body: () => ({ url: 'https://hooks.example/leads', description: 'CRM', enabled: false }),
  fields: {
    url: optional(webUrl),
    description: optional(text()),
    enabled: { ...optional(boolean), right: [] },
  },
}

export const updateUser: Operation = {
  name: 'a change of a user',
  method: 'PATCH',
  path: (world) => `/manage/users/${world.idleUserId}`,
  body: (world) => ({ email: world.freshEmail(), name: 'Grace Hopper' }),
  fields: { email: optional(freeEmail), name: optional(text()) },
}

export const updateAccount: Operation = {
  name: 'a change of the account',
  method: 'PATCH',
  path: () => '/manage/account',
  body: () => ({ contact_email: 'it@example.com' }),
  fields: { contact_email: optional(email) },
}

const rescheduling = (name: string, path: string, entryId: (world: World) => number): Operation => ({
  name,
  method: 'PATCH',
  path: (world) => `/leads/${world.reference}/${path}/${entryId(world)}`,
  body: (world) => ({ notify: false, user_id: world.userId, date: '25/12/2026 14:30' }),
  fields: { notify: optional(boolean), user_id: optional(userId), date: optional(localDateTime) },
})

/** Every operation that reads a JSON or form body. */
export const OPERATIONS: Operation[] = [
  createLead,
  updateLead,
  scheduleAppointment,
  scheduleCallback,
  createVisitorLead,
  createUser,
  createToken,
  createEndpoint,
  updateEndpoint,
  updateUser,
  updateAccount,
  rescheduling('Reschedule Appointment', 'appointments', ({ appointmentId }) => appointmentId),
  rescheduling('Reschedule Callback', 'callbacks', ({ callbackId }) => callbackId),
]
