import { eventually } from '@leadwire/test-kit'
import { FORM, publish } from './capture'
import type { Part, RequestOptions } from './client'
import type { Route } from './openapi'
import { PNG } from './samples'
import { LEAD, type Tenant } from './stage'

/** An account with one record of every kind that a path, a query or a body can name. */
export type Furnished = {
  tenant: Tenant
  /** Returns the identifiers for the parameters of a path, by name. Throws for an unknown parameter. */
  identify(path: string): Record<string, string>
  /** Returns the options of a valid request. Throws if the route has a body that this file does not know. */
  describe(route: Route): RequestOptions
  /** The identifiers of the records, by the query parameters and body fields that refer to them. */
  records: Record<string, string | number>
}

export const IMAGE: Part[] = [{ name: 'file', value: PNG, fileName: 'front.png' }]
export const FILE: Part[] = [{ name: 'name', value: 'Front' }, ...IMAGE]

const EXTERNAL_ID = 'crm-1017'
/** The name of a saved view of the user who has signed in with `session`. */
const VIEW = 'open-leads'
const NDJSON = { 'content-type': 'application/x-ndjson' }

/** Fills the parameters of a path. Keeps the placeholder of a parameter without a value. */
export const fillPath = (path: string, identifiers: Record<string, string>): string =>
  path.replace(/\{(\w+)\}/g, (parameter, name: string) => identifiers[name] ?? parameter)

export const listParameters = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

/**
 * Sorts routes so that each record still exists when a request needs it: reads, changes, deletions, erasure.
 */
export const sortRoutes = (routes: Route[]): Route[] => {
  const rank = ({ method, path, operation }: Route): string => {
    const lasting = ['eraseLead', 'retrieveErasure'].indexOf(operation.operationId)
    if (lasting >= 0) return `4${lasting}`
    if (method === 'GET') return '1'
    if (method !== 'DELETE') return '2'
    // Longer paths come first, so that a user's calendar is deleted before the user.
    return `3${1000 - path.length}`
  }
  return routes.toSorted((a, b) => rank(a).localeCompare(rank(b)))
}

export async function furnish(tenant: Tenant): Promise<Furnished> {
  const { send } = tenant
  const { id: endpointId } = await tenant.listen()
  const image = await send<{ id: number; url: string }>('POST', '/manage/images', { multipart: FILE })
  const userFields = { email: `sam-${tenant.account.id}@example.com`, name: 'Sam Bay' }
  const user = await send('POST', '/manage/users', { json: { ...userFields, role: 'viewer' } })
  // The operations on own sessions need two sessions: the first one ends the second one. The secret in the
  // cookie of a session is also valid as a bearer token.
  const admin = await tenant.newUser('admin', { email: `admin-${tenant.account.id}@example.com` })
  const signIn = async () => ({ token: (await tenant.signIn(admin.id)).split('=')[1]! })
  const [session, secondSession] = [await signIn(), await signIn()]
  const { session_id: sessionId } = await send<{ session_id: number }>('GET', '/me', secondSession)
  const item = {
    product_style_id: 7,
    product_style: { sku: 'CAS', name: 'Casement', product: { name: 'Window' } },
    name: 'Casement',
    price: 45900,
    margin: 0.25,
    image_id: image.id,
    options: { width: 1200, glass: 'Clear' },
  }
  const visitorLead = { ...LEAD, attributes: { utm_source: 'news' }, quotes: [{ items: [item] }] }
  const { reference } = await send('POST', '/manage/leads', {
    json: { ...visitorLead, external_id: EXTERNAL_ID },
  })
  const entry = { notify: true, user_id: user.id, date: '01/02/2027 10:00' }
  const rows = { body: JSON.stringify({ name: 'invalid' }), headers: NDJSON }
  const endpoint = `/manage/webhook-endpoints/${endpointId}`
  const [appointment, callback, attachment, note, imported, spareToken, capture, calendar, replay, portal] =
    await Promise.all([
      send('POST', `/leads/${reference}/appointments`, { json: entry }),
      send('POST', `/leads/${reference}/callbacks`, { json: entry }),
      send('POST', `/leads/${reference}/attachments`, { multipart: FILE }),
      send('POST', `/manage/leads/${reference}/notes`, { json: { text: 'Wants oak.' } }),
      send('POST', '/manage/imports', rows),
      tenant.newToken({ name: 'Spare' }),
      publish(tenant),
      send<{ url: string }>('POST', `/manage/users/${user.id}/calendar`),
      send('POST', `${endpoint}/replay`, { json: { dry_run: true } }),
      send<{ url: string }>('POST', `${endpoint}/portal`),
    ])
  // Waits until all background work has ended. Afterwards only requests change the account.
  await eventually(async () => {
    expect(await send('GET', `/manage/imports/${imported.id}`)).toMatchObject({ state: 'finished' })
    expect(await send('GET', '/manage/events')).toHaveLength(5)
  })
  const delivery = await awaitDelivered(tenant, '/manage/deliveries', 1)
  const notification = await awaitDelivered(tenant, '/manage/notifications', 4)

  const ids: [prefix: string, id: number][] = [
    ['/leads/{reference}/attachments/', attachment.id],
    ['/leads/{reference}/appointments/', appointment.id],
    ['/leads/{reference}/callbacks/', callback.id],
    ['/manage/leads/{reference}/notes/', note.id],
    ['/manage/users/', user.id],
    ['/me/sessions/', sessionId],
    ['/manage/imports/', imported.id],
    ['/manage/tokens/', spareToken.id],
    ['/manage/webhook-endpoints/', endpointId],
    ['/manage/deliveries/', delivery],
    ['/manage/notifications/', notification],
  ]
  const others: Record<string, string> = {
    reference,
    external_id: EXTERNAL_ID,
    replay_id: String(replay.id),
    file: image.url.split('/').pop()!,
    token: capture.token,
    name: VIEW,
    secret: /[^/]+(?=\.ics$)/.exec(calendar.url)![0],
  }
  const identify = (path: string) => {
    const id = ids.find(([prefix]) => path.startsWith(prefix))?.[1]
    const known: Record<string, string> = id === undefined ? others : { ...others, id: String(id) }
    const names = listParameters(path)
    const unknown = names.filter((name) => known[name] === undefined)
    if (unknown.length > 0) throw new Error(`${path}: furnish.ts has no identifier for ${unknown.join(', ')}`)
    return Object.fromEntries(names.map((name) => [name, known[name]!]))
  }

  const bodies: Record<string, RequestOptions> = {
    createLead: { json: LEAD },
    updateLead: { json: { value: 1 } },
    scheduleAppointment: { json: entry },
    scheduleCallback: { json: entry },
    rescheduleAppointment: { json: { date: '02/02/2027 10:00' } },
    rescheduleCallback: { json: { date: '02/02/2027 10:00' } },
    attachFile: { multipart: FILE },
    createVisitorLead: { json: visitorLead },
    createLeadBatch: { json: { leads: [visitorLead, { external_id: EXTERNAL_ID, value: 2 }] } },
    upsertLead: { json: { value: 3, attributes: { visits: 4 }, quotes: visitorLead.quotes } },
    updateLeadsInBulk: {
      json: { references: [reference], set: { status: 'lost', attributes: { visits: 6 } } },
    },
    updateManagedLead: {
      json: { last_name: 'Byron', attributes: { visits: 5 }, quotes: visitorLead.quotes },
    },
    markLeadDuplicate: { json: { reference: null } },
    listViews: session,
    saveView: { ...session, json: { filters: { status: 'open', test: false }, sort: '-updated_at' } },
    deleteView: session,
    setLeadRetention: { json: { statuses: ['lost'], months: 240 } },
    addNote: { json: { text: 'Called back.\nWants three windows.' } },
    updateNote: { json: { text: 'Wants four windows.' } },
    updateAccount: { json: { contact_email: 'it@example.com', appointment_due_minutes: 30 } },
    createUser: { json: { email: 'kim@example.com', name: 'Kim' } },
    updateUser: { json: { name: 'Sam' } },
    createToken: { json: { name: 'Website', scopes: ['leads'] } },
    createWebhookEndpoint: { json: { url: 'https://crm.example/', enabled: false } },
    updateWebhookEndpoint: { json: { description: 'CRM' } },
    rotateWebhookSecret: { json: { overlap: '15m' } },
    testWebhookEndpoint: { json: { type: 'lead.updated' } },
    recoverWebhookEndpoint: { json: { since: '2026-01-01T00:00:00Z' } },
    replayWebhookEndpoint: { json: { from: '2026-01-01T00:00:00Z', state: 'exhausted' } },
    openPortalLink: { token: portal.url.split('#portal=')[1]! },
    createImport: rows,
    createImage: { multipart: FILE },
    captureLead: { token: '', form: FORM },
    requestSignInLink: { token: '', json: { email: userFields.email } },
    createSession: { token: await tenant.newSignInLink(admin.id) },
    listMySessions: session,
    endMySession: session,
  }
  const describe = ({ operation }: Route) => {
    const options = bodies[operation.operationId]
    if (operation.requestBody && !options)
      throw new Error(`${operation.operationId}: furnish.ts has no body for this operation`)
    return options ?? {}
  }
  const records = {
    user_id: user.id,
    user_email: userFields.email,
    image_id: image.id,
    endpoint_id: endpointId,
    lead_reference: reference,
    reference,
  }
  return { tenant, identify, describe, records }
}

/** Waits until a list has `count` deliveries, all delivered. Returns the id of the newest delivery. */
const awaitDelivered = ({ client }: Tenant, path: string, count: number): Promise<number> =>
  eventually(async () => {
    const { json } = await client.request<{ data: { id: number; status: string }[] }>('GET', path)
    expect(json.data.map(({ status }) => status)).toEqual(Array(count).fill('delivered'))
    return json.data[0]!.id
  })
