import { eventually } from '@leadwire/test-kit'
import type { RequestOptions } from '../support/client'
import { awaitLinkMail } from '../support/mail'
import { joinStage, readCookie, type SharedStage, type Tenant } from '../support/stage'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }

/** Sends a request without a token. */
const ask = <T = Record<string, unknown>>(method: string, path: string, options: RequestOptions = {}) =>
  tenant.client.request<{ data: T; detail: string }>(method, path, { token: '', ...options })

const newEmail = (name: string) => `${name}-${tenant.account.id}@example.com`

const awaitMail = (subject: 'sign_in' | 'invitation', email: string) =>
  awaitLinkMail(stage.system, tenant, { subject, email, count: 1 })

/** Asks for a link by e-mail. Returns the Cookie header of the browser that asked. */
const requestLink = async (email: string): Promise<string> => {
  const answer = await ask('POST', '/sign-in-links', { json: { email } })
  expect(answer).toMatchObject({ status: 202, json: { data: { expires_in_minutes: 15 } } })
  return readCookie(answer.headers['set-cookie'])
}

const openLink = (secret: string, cookie?: string) =>
  ask('POST', '/sessions', { token: secret, headers: { ...OWN_PAGE, ...(cookie && { cookie }) } })

test('a user asks for a link by e-mail, signs in with it once, works as themselves, and signs out', async () => {
  const email = newEmail('grace')
  const user = await tenant.newUser('sales', { name: 'Grace Hopper', email })
  await awaitMail('invitation', email)
  const browser = await requestLink(email)
  const mail = await awaitMail('sign_in', email)
  expect(mail.to).toContain(email)

  const named = await ask('GET', '/me', { token: mail.secret })
  expect(named.json.data).toMatchObject({ name: 'Grace Hopper', account: { name: 'Spec' } })
  expect(await openLink(mail.secret)).toMatchObject({ status: 403 })
  const opened = await openLink(mail.secret, browser)
  expect(opened).toMatchObject({ status: 200, json: { data: { type: 'user', id: user.id, role: 'sales' } } })
  const [setCookie] = [opened.headers['set-cookie']].flat()
  const { port } = new URL(stage.system.baseUrl)
  expect(setCookie).toMatch(
    new RegExp(
      `^leadwire-session-${port}=lw_session_[\\w-]{43}; Max-Age=604800; Path=/; HttpOnly; SameSite=Lax$`,
    ),
  )
  // For half a second, a gateway remembers that the link was valid. leads-service then refuses it.
  expect([401, 409]).toContain((await openLink(mail.secret, browser)).status)

  const headers = { ...OWN_PAGE, cookie: readCookie(setCookie) }
  const me = await ask('GET', '/me', { headers })
  expect(me.json.data).toMatchObject({
    type: 'user',
    id: user.id,
    name: 'Grace Hopper',
    email,
    role: 'sales',
    account: { id: tenant.account.id, name: 'Spec' },
    scopes: ['leads', 'users:read'],
    endpoint_id: null,
    test: false,
  })
  const { reference } = await tenant.createLead()
  await ask('PATCH', `/leads/${reference}`, { headers, json: { value: 4500 } })
  const history = await tenant.send<object[]>('GET', `/manage/leads/${reference}/history`)
  expect(history[0]).toMatchObject({
    actor: { type: 'user', id: user.id, name: 'Grace Hopper' },
    token: null,
  })
  const erased = await tenant.send('POST', `/manage/leads/${reference}/erase`)
  expect(erased).toMatchObject({ actor: { type: 'token', name: 'first' } })
  expect(history[1]).toMatchObject({ actor: { type: 'token' }, token: { id: expect.any(Number) } })

  const listed = await ask<{ id: number; current: boolean }[]>('GET', '/me/sessions', { headers })
  expect(listed.json.data).toMatchObject([{ current: true }])
  const ended = await ask('DELETE', `/me/sessions/${listed.json.data[0]!.id}`, { headers })
  expect(ended).toMatchObject({ status: 200 })
  expect(String(ended.headers['set-cookie'])).toMatch(/^leadwire-session-\d+=; Max-Age=0;/)
  await eventually(async () => expect(await ask('GET', '/me', { headers })).toMatchObject({ status: 401 }))
})

test('the response does not tell whether an address is known, and a malformed address is refused', async () => {
  const email = newEmail('known')
  await tenant.newUser('viewer', { email })
  const answers = []
  for (const asked of [email, newEmail('unknown')]) {
    const { status, text, headers } = await ask('POST', '/sign-in-links', { json: { email: asked } })
    answers.push({ status, text, names: Object.keys(headers).toSorted() })
  }
  expect(answers[0]).toEqual(answers[1])
  const malformed = await ask('POST', '/sign-in-links', { json: { email: 'nobody' } })
  expect(malformed).toMatchObject({ status: 422, json: { errors: { email: [expect.any(String)] } } })
})

test('an invited user signs in with the invitation in any browser, and leaves no trace after an erasure', async () => {
  const email = newEmail('sam')
  const admin = await tenant.newUser('admin', { email: newEmail('admin') })
  const headers = { ...OWN_PAGE, cookie: await tenant.signIn(admin.id) }
  const created = await ask<{ id: number }>('POST', '/manage/users', {
    headers,
    json: { name: 'Sam Bay', email, role: 'support' },
  })
  expect(created).toMatchObject({ status: 200, json: { data: { role: 'support' } } })
  const { secret, text } = await awaitMail('invitation', email)
  expect(text).toContain('Spec')
  const signedIn = await openLink(secret)
  expect(signedIn).toMatchObject({ status: 200, json: { data: { email, role: 'support' } } })

  const { id } = created.json.data
  expect(await ask('DELETE', `/manage/users/${id}?erase=1`, { headers })).toMatchObject({ status: 200 })
  const cookie = readCookie(signedIn.headers['set-cookie'])
  await eventually(async () =>
    expect(await ask('GET', '/me', { headers: { ...OWN_PAGE, cookie } })).toMatchObject({ status: 401 }),
  )
  const audit = await tenant.client.request('GET', '/manage/audit')
  expect(audit.text).not.toContain(email)
  expect(audit.text).not.toContain('Sam Bay')
  expect(audit.text).toContain('A removed user')
})

describe('a session is refused for requests that do not come from an own page', () => {
  let cookie: string
  beforeEach(async () => {
    cookie = await tenant.signIn((await tenant.newUser('admin')).id)
  })

  const own = () => stage.system.baseUrl
  const SENDERS: [sender: string, headers: () => Record<string, string>, get: number, patch: number][] = [
    ['an own page', () => ({ 'sec-fetch-site': 'same-origin', origin: own() }), 200, 200],
    ['an own page of a browser that sends only Origin', () => ({ origin: own() }), 200, 200],
    ['an entered address', () => ({ 'sec-fetch-site': 'none' }), 200, 403],
    ['another site', () => ({ 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }), 403, 403],
    ['another host of the site', () => ({ 'sec-fetch-site': 'same-site' }), 403, 403],
    ['a browser that sends only a foreign Origin', () => ({ origin: 'https://evil.example' }), 403, 403],
    ['a sandboxed page', () => ({ origin: 'null' }), 403, 403],
    ['a sender that says nothing', () => ({}), 200, 403],
  ]
  test.each(SENDERS)('%s', async (_, makeHeaders, get, patch) => {
    const headers = { ...makeHeaders(), cookie }
    const json = { contact_email: 'it@example.com' }
    const statuses = [
      (await ask('GET', '/manage/account', { headers })).status,
      (await ask('PATCH', '/manage/account', { headers, json })).status,
    ]
    expect(statuses).toEqual([get, patch])
  })
})

test('a bearer token takes precedence over a session, and a wrong session is refused', async () => {
  const { id } = await tenant.newUser('viewer')
  const headers = { ...OWN_PAGE, cookie: await tenant.signIn(id) }
  const me = await ask('GET', '/me', { token: tenant.token, headers })
  expect(me.json.data).toMatchObject({ type: 'token', email: null, role: null, session_id: null })
  const wrong = `${headers.cookie.split('=')[0]}=lw_session_${'x'.repeat(43)}`
  const refused = await ask('GET', '/me', { headers: { ...OWN_PAGE, cookie: wrong } })
  expect(refused).toMatchObject({ status: 401, json: { detail: 'The session has ended. Sign in again.' } })
})

test('a repeated create of a session with an idempotency key gets the saved response', async () => {
  const { id } = await tenant.newUser('admin')
  const headers = { ...OWN_PAGE, cookie: await tenant.signIn(id), 'idempotency-key': 'once' }
  const json = { name: 'CRM', scopes: ['leads'] }
  const first = await ask<{ id: number }>('POST', '/manage/tokens', { headers, json })
  const second = await ask<{ id: number }>('POST', '/manage/tokens', { headers, json })
  expect(second.json.data).toEqual(first.json.data)
  expect(second.headers['idempotency-replayed']).toBe('true')
})

test('a token gives no role beyond its own rights, and takes over no user with a role', async () => {
  const { id } = await tenant.newUser('admin')
  const expires_at = new Date(Date.now() + 3_600_000).toISOString()
  const limited = {
    test: await tenant.newToken({ scopes: ['leads', 'manage'], test: true }),
    expiring: await tenant.newToken({ scopes: ['leads', 'manage'], expires_at }),
    narrow: await tenant.newToken({ scopes: ['manage'] }),
  }
  for (const [name, { token }] of Object.entries(limited)) {
    const fields = { name: 'Eve', email: newEmail(`eve-${name}`), role: 'viewer' }
    const created = await ask('POST', '/manage/users', { token, json: fields })
    expect([name, created]).toMatchObject([
      name,
      { status: 422, json: { errors: { role: [expect.any(String)] } } },
    ])
    const taken = await ask('PATCH', `/manage/users/${id}`, { token, json: { email: newEmail('mallory') } })
    expect([name, taken.status]).toEqual([name, 422])
    const renamed = await ask('PATCH', `/manage/users/${id}`, { token, json: { name: `By ${name}` } })
    expect([name, renamed.status]).toEqual([name, 200])
  }
})
