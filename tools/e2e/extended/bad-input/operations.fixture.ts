import type { World } from './world.fixture'

export type Operation = {
  name: string
  method: 'POST' | 'PATCH'
  path: (world: World) => string
  /** Returns a valid body. */
  body: (world: World) => Record<string, unknown>
}

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

export const createLead: Operation = {
  name: 'Create Lead',
  method: 'POST',
  path: () => '/leads',
  body: (world) => ({ ...customerBody(), user_id: world.userId }),
}

export const updateLead: Operation = {
  name: 'Update Lead',
  method: 'PATCH',
  path: (world) => `/leads/${world.reference}`,
  body: (world) => ({ value: 4500, status: 'sold', user_email: world.userEmail, notify: false }),
}

const scheduling = (name: string, path: string): Operation => ({
  name,
  method: 'POST',
  path: (world) => `/leads/${world.reference}/${path}`,
  body: (world) => ({ notify: false, user_id: world.userId, date: '24/12/2026 14:30' }),
})

export const scheduleAppointment = scheduling('Schedule Appointment', 'appointments')
const scheduleCallback = scheduling('Schedule Callback', 'callbacks')

const addNote: Operation = {
  name: 'Add Note',
  method: 'POST',
  path: (world) => `/manage/leads/${world.reference}/notes`,
  body: () => ({ text: 'Called back. Wants three windows.' }),
}

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

const createVisitorLead: Operation = {
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
}

const createUser: Operation = {
  name: 'a user',
  method: 'POST',
  path: () => '/manage/users',
  body: (world) => ({ email: world.freshEmail(), name: 'Grace Hopper' }),
}

const createToken: Operation = {
  name: 'a token',
  method: 'POST',
  path: () => '/manage/tokens',
  body: () => ({ name: 'Website form', scopes: ['leads'], expires_at: '2090-01-01T00:00:00Z', test: true }),
}

const createEndpoint: Operation = {
  name: 'a webhook endpoint',
  method: 'POST',
  path: () => '/manage/webhook-endpoints',
  // The endpoint is disabled, so that the leads of these specs cause no deliveries to it.
  body: () => ({
    url: 'https://hooks.example/leads',
    description: 'CRM',
    enabled: false,
    secret: 'a long random text',
  }),
}

const updateEndpoint: Operation = {
  name: 'a change of a webhook endpoint',
  method: 'PATCH',
  path: (world) => `/manage/webhook-endpoints/${world.idleEndpointId}`,
  body: () => ({ url: 'https://hooks.example/leads', description: 'CRM', enabled: false }),
}

const updateUser: Operation = {
  name: 'a change of a user',
  method: 'PATCH',
  path: (world) => `/manage/users/${world.idleUserId}`,
  body: (world) => ({ email: world.freshEmail(), name: 'Grace Hopper' }),
}

const updateAccount: Operation = {
  name: 'a change of the account',
  method: 'PATCH',
  path: () => '/manage/account',
  body: () => ({
    contact_email: 'it@example.com',
    appointment_due_minutes: 30,
    callback_due_minutes: 5,
  }),
}

const rescheduling = (name: string, path: string, entryId: (world: World) => number): Operation => ({
  name,
  method: 'PATCH',
  path: (world) => `/leads/${world.reference}/${path}/${entryId(world)}`,
  body: (world) => ({
    notify: false,
    user_id: world.userId,
    date: '25/12/2026 14:30',
    done: false,
    remind: false,
  }),
})

/** Every operation that reads a JSON or form body. */
export const OPERATIONS: Operation[] = [
  createLead,
  updateLead,
  scheduleAppointment,
  scheduleCallback,
  addNote,
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
