import { randomUUID } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { Client as Database } from 'pg'
import type { RequestOptions } from '../../support/client'
import { fetchOpenApi, listRoutes, type Route } from '../../support/openapi'
import { PNG } from '../../support/samples'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

// All personal data and all secrets that this file sends contain one of the TRACES.
const MARK = 'unmistakable'
const PHONE = '07700 900461'
const TRACES = [MARK, '7700 900461', '7700900461']
const EMAIL = `${MARK}@b.example`
const SECRET = `${MARK}-secret-of-16-bytes`
// Leads with this name violate a database constraint that the service does not know.
const REFUSED = `${MARK} refused`

/** Starts a mail server that rejects every recipient and repeats the e-mail address in its response. */
const startRefusingMailServer = () =>
  new Promise<Server>((resolve) => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined)
      socket.write('220 mail.example ESMTP\r\n')
      socket.on('data', (data) => {
        const line = data.toString()
        if (/^RCPT/i.test(line)) socket.write(`550 5.1.1 ${line.slice(8).trim()}: no such user\r\n`)
        else if (/^QUIT/i.test(line)) socket.end('221 bye\r\n')
        else socket.write('250 ok\r\n')
      })
    }).listen(0, '127.0.0.1', () => resolve(server))
  })

let mail: Server
let store: ObjectStoreDirectory
let stage: Stage
let tenant: Tenant
let routes: Route[]
let userId: number
beforeAll(async () => {
  ;[mail, store] = await Promise.all([startRefusingMailServer(), objectStoreDirectory()])
  const { port } = mail.address() as { port: number }
  const env = { LOG_LEVEL: 'trace', SMTP_URL: `smtp://127.0.0.1:${port}` }
  stage = await startStage({ env, store: { STORE_URL: store.url } })
  tenant = await stage.newTenant()
  routes = listRoutes(await fetchOpenApi(tenant.client))
  userId = (
    await tenant.send('POST', '/manage/users', { json: { email: EMAIL, name: MARK, role: 'viewer' } })
  ).id
})
afterAll(async () => {
  await stage?.stop()
  await new Promise((closed) => mail.close(closed))
  await store.remove()
})

const LEAD_OF_PERSON = {
  ...LEAD,
  name: `${MARK} lead`,
  first_name: MARK,
  last_name: MARK,
  company_name: MARK,
  email: EMAIL,
  phone: PHONE,
  mobile: PHONE,
}
const entry = () => ({ notify: true, user_id: userId, date: '01/02/2027 10:00' })
const form = (name: string) => [
  { name: 'name', value: MARK },
  { name: 'alt', value: MARK },
  { name: 'file', value: PNG, fileName: name },
]

/**
 * Returns a body for each operation that takes one. Fields for personal data, secrets and free texts contain
 * one of the TRACES, which must not appear in the logs.
 */
const bodies = (url: string, session: string): Record<string, RequestOptions> => {
  const endpoint = {
    url,
    description: MARK,
    secret: SECRET,
    headers: { Authorization: `Bearer ${SECRET}` },
    filter: { user_email: [EMAIL], postcode: ['SW1A'] },
  }
  const lead = { json: { ...LEAD_OF_PERSON, user_id: userId } }
  return {
    'POST /leads': lead,
    'POST /capture/{token}': { json: { ...LEAD_OF_PERSON, [MARK]: MARK } },
    'POST /manage/leads': {
      json: { ...lead.json, description: MARK, referrer_url: `https://b.example/${MARK}` },
    },
    'POST /manage/leads/batch': {
      json: { leads: [{ ...LEAD_OF_PERSON, external_id: MARK, attributes: { note: EMAIL } }] },
    },
    'POST /manage/leads/bulk': {
      json: { references: [randomUUID()], set: { attributes: { note: `${MARK} ${PHONE}` } } },
    },
    'PUT /manage/views/{name}': { token: session, json: { filters: { q: EMAIL } } },
    'PUT /manage/leads/external/{external_id}': {
      json: { ...LEAD_OF_PERSON, attributes: { note: `${MARK} ${PHONE}` } },
    },
    'PATCH /manage/leads/{reference}': {
      json: { ...LEAD_OF_PERSON, external_id: `${MARK} changed`, attributes: { note: EMAIL } },
    },
    'POST /manage/leads/{reference}/duplicate-of': { json: { reference: null } },
    'POST /manage/leads/{reference}/notes': { json: { text: MARK } },
    'PATCH /manage/leads/{reference}/notes/{id}': { json: { text: `${MARK} ${PHONE}` } },
    'PATCH /leads/{reference}': { json: { value: 7, user_email: EMAIL, notify: true } },
    'POST /leads/{reference}/appointments': { json: entry() },
    'POST /leads/{reference}/callbacks': { json: entry() },
    'PATCH /leads/{reference}/appointments/{id}': { json: entry() },
    'PATCH /leads/{reference}/callbacks/{id}': { json: entry() },
    'POST /leads/{reference}/attachments': { multipart: form(`${EMAIL}.png`) },
    'POST /manage/images': { multipart: form(`${EMAIL}.png`) },
    'POST /manage/imports': {
      body: `${JSON.stringify(LEAD_OF_PERSON)}\n${JSON.stringify({ ...LEAD_OF_PERSON, email: `${MARK}@@` })}\n`,
      headers: { 'content-type': 'application/x-ndjson' },
    },
    'PUT /manage/lead-retention': { json: { statuses: ['lost'], months: 240 } },
    'PATCH /manage/account': { json: { contact_email: EMAIL } },
    'POST /manage/users': { json: { email: `second-${EMAIL}`, name: MARK, role: 'sales' } },
    'POST /sign-in-links': { json: { email: EMAIL } },
    'PATCH /manage/users/{id}': { json: { email: EMAIL, name: `${MARK} changed` } },
    'POST /manage/tokens': { json: { name: MARK, scopes: ['leads'] } },
    'POST /manage/webhook-endpoints': { json: endpoint },
    'PATCH /manage/webhook-endpoints/{id}': { json: endpoint },
    'POST /manage/webhook-endpoints/{id}/rotate-secret': { json: { overlap: '15m', secret: `${SECRET}-2` } },
    'POST /manage/webhook-endpoints/{id}/test': { json: { type: 'lead.updated' } },
    'POST /manage/webhook-endpoints/{id}/recover': { json: { since: '2026-01-01T00:00:00Z' } },
    'POST /manage/webhook-endpoints/{id}/replay': { json: { from: '2026-01-01T00:00:00Z', state: 'all' } },
  }
}

const spoilField = (name: string, value: unknown) => {
  if (typeof value === 'string') return `${value}\0${MARK}@@`
  return name === 'leads' ? MARK : [MARK]
}

/** Makes each field of a JSON body invalid. Replaces any other body with a text of an invalid type. */
const spoil = ({ json, ...rest }: RequestOptions): RequestOptions => {
  if (json === undefined)
    return { ...rest, headers: { 'content-type': `text/${MARK}` }, body: MARK, multipart: undefined as never }
  const fields = Object.entries(json as object)
  return { json: Object.fromEntries(fields.map(([name, value]) => [name, spoilField(name, value)])) }
}

const rendered = () => stage.system.logs().map((line) => JSON.stringify(line))

const withoutTraces = (further: string[]) => {
  const traces = [...TRACES, ...further]
  expect(traces.filter((trace) => trace.length < 8)).toEqual([])
  expect(rendered().filter((line) => traces.some((trace) => line.includes(trace)))).toEqual([])
}

const readSettings = (service: string) => stage.system.services.find((one) => one.service === service)!.env

/** Returns the credentials, and the key that encrypts secrets. */
const listKeys = (tokens: string[]) => [
  ...tokens,
  stage.system.serviceToken,
  readSettings('leads-service')['ENCRYPTION_KEYS']!,
]

const logged = (msg: string, fields: object = {}) =>
  eventually(() => expect(stage.system.logs()).toContainEqual(expect.objectContaining({ msg, ...fields })))

test('neither accepted nor refused requests put tokens, secrets, addresses or telephone numbers into a log', async () => {
  const { receiver, id } = await tenant.listen({ secret: SECRET, headers: { 'X-Key': SECRET } })
  receiver.answerWith(({ body }) => ({ status: 500, body: `${EMAIL} ${body.toString()}` }))
  const { reference } = await tenant.createLead(LEAD_OF_PERSON)
  const [, viewSession = ''] = (await tenant.signIn(userId)).split('=')
  const known = bodies(receiver.url, viewSession)
  const taking = routes.filter(({ operation }) => operation.requestBody)
  expect(taking.map(({ method, path }) => `${method} ${path}`).filter((name) => !known[name])).toEqual([])
  const ids: Record<string, number> = { '/manage/users': userId, '/manage/webhook-endpoints': id }
  for (const kind of ['appointments', 'callbacks']) {
    const made = await tenant.send('POST', `/leads/${reference}/${kind}`, { json: entry() })
    ids[`/leads/{reference}/${kind}`] = made.id
  }
  const notes = `/manage/leads/${reference}/notes`
  const note = await tenant.send('POST', notes, { json: { text: MARK } })
  ids['/manage/leads/{reference}/notes'] = note.id
  const { url } = await tenant.send<{ url: string }>('POST', `/manage/users/${userId}/calendar`)
  const calendar = new URL(url).pathname
  for (const [method, path] of [
    ...['GET', 'HEAD', 'POST', 'QUERY'].map((one) => [one, calendar] as const),
    ...['/', '.ics', '?x=%ff'].map((more) => ['GET', `${calendar}${more}`] as const),
    ['GET', calendar.slice(0, -4)] as const,
  ])
    await tenant.client.request(method, path, { token: '' })
  const link = await tenant.newSignInLink(userId)
  const session = await tenant.signIn(userId)
  const secrets = [link, viewSession, session.split('=')[1]!]
  for (const cookie of [session, `${session}x`])
    await tenant.client.request('GET', '/me', { token: '', headers: { cookie } })
  const published = { publishable: true, scopes: undefined, origins: ['https://www.example.com'] }
  const { token: capture } = await tenant.newToken(published)
  const fillPath = (path: string) => {
    const prefix = Object.keys(ids).find((one) => path.startsWith(one))
    return path
      .replace('{reference}', reference)
      .replace('{external_id}', MARK)
      .replace('{name}', MARK)
      .replace('{token}', capture)
      .replace('{id}', String(ids[prefix ?? ''] ?? 1))
  }
  for (const { method, path } of taking) {
    const body = known[`${method} ${path}`]!
    const headers = { ...body.headers, 'idempotency-key': `${MARK} ${method} ${path}` }
    const taken = await tenant.client.request(method, fillPath(path), { ...body, headers })
    expect([method, path, taken.status, taken.text]).toEqual([
      method,
      path,
      ['/manage/imports', '/sign-in-links'].includes(path) ? 202 : 200,
      expect.any(String),
    ])
    const refused = await tenant.client.request(method, fillPath(path), spoil(body))
    expect([method, path, refused.status >= 400 && refused.status < 500]).toEqual([method, path, true])
  }
  const question = `email=${encodeURIComponent(EMAIL)}&phone=${encodeURIComponent(PHONE)}&q=${MARK}&cursor=${MARK}`
  for (const { method, path } of routes.filter((one) => one.method === 'GET'))
    await tenant.client.request(
      method,
      `${fillPath(path).replace('{file}', MARK).replace('{secret}', MARK)}?${question}`,
    )
  const unknown = `lw_live_${MARK}`
  expect((await tenant.client.request('GET', `/${EMAIL}`, { token: unknown })).status).toBe(404)
  expect((await tenant.client.request('GET', '/leads', { token: unknown })).status).toBe(401)

  // Waits until the e-mail to the user and the webhook have failed. The mail server repeats the address in
  // its response, and the receiver repeats the body, so an unfiltered log would contain personal data.
  await logged('attempt', { error: 'smtp_status', status: 550 })
  await logged('attempt', { error: 'http_status', status: 500 })
  await eventually(async () => {
    const { json } = await tenant.client.request<{ data: { finished_at: string | null }[] }>(
      'GET',
      '/manage/imports',
    )
    expect(json.data.filter(({ finished_at }) => finished_at === null)).toEqual([])
  })
  withoutTraces(
    listKeys([
      tenant.token,
      stage.system.token,
      capture,
      calendar.slice('/calendars/'.length, -4),
      ...secrets,
    ]),
  )
  for (const { name } of stage.system.services) expect(stage.system.logs(name).length).toBeGreaterThan(0)
  await logged('request', { route: '/manage/persons/export' })
}, 120_000)

test('a row that the database rejects is not logged, although PostgreSQL repeats it in the error', async () => {
  const database = new Database({ connectionString: readSettings('leads-service')['DATABASE_URL'] })
  await database.connect()
  await database.query(`ALTER TABLE leads ADD CONSTRAINT unforeseen CHECK (name <> '${REFUSED}') NOT VALID`)
  await database.end()
  // Concurrent creates form one batch. After the batch fails, each lead is created separately.
  const answers = await Promise.all(
    [REFUSED, REFUSED, REFUSED].map((name) =>
      tenant.client.request('POST', '/leads', { json: { ...LEAD_OF_PERSON, name } }),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([400, 400, 400])
  await eventually(() => expect(rendered().filter((line) => line.includes('unforeseen'))).not.toEqual([]))
  withoutTraces(listKeys([tenant.token]))
})

test('a file name is not logged while the store is unavailable, although the address contains it', async () => {
  const { reference } = await tenant.createLead()
  await store.remove()
  const address = `/leads/${reference}/attachments`
  const answer = await tenant.client.request('POST', address, { multipart: form(`${EMAIL}.png`) })
  expect(answer.status).toBeGreaterThanOrEqual(500)
  await eventually(() =>
    expect(stage.system.logs('files-service')).toContainEqual(
      expect.objectContaining({ level: expect.stringMatching(/warn|error/), route: '/files' }),
    ),
  )
  withoutTraces(listKeys([tenant.token]))
})
