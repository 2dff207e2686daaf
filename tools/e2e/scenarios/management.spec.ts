import { eventually } from '@leadwire/test-kit'
import { IMAGE } from '../support/furnish'
import { expectRecord, IMAGE as IMAGE_TABLE, TIMESTAMP } from '../support/interface-tables'
import { SAMPLES } from '../support/samples'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

const DAY_MS = 86_400_000

type Named = Record<string, unknown> & { id: number }

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const timestamp = expect.stringMatching(TIMESTAMP)

const newUser = (email = 'sam@example.com', name = 'Sam Bay') =>
  tenant.send<Named>('POST', '/manage/users', { json: { email, name } })

const read = (path: string, headers: Record<string, string> = {}) =>
  tenant.client.request('GET', path, { token: '', headers })

const refuse = async (method: string, path: string, json: object) => {
  const answer = await tenant.client.request<{ errors?: object }>(method, path, { json })
  expect([method, path, answer.status]).toEqual([method, path, 422])
  return Object.keys(answer.json.errors ?? {})
}

test('a user is created, changed and removed; assignments stay, and the e-mail address can be used again', async () => {
  const user = await newUser()
  expect(Object.entries(user)).toEqual([
    ['id', expect.any(Number)],
    ['email', 'sam@example.com'],
    ['name', 'Sam Bay'],
    ['role', null],
    ['created_at', timestamp],
    ['removed_at', null],
    ['calendar_created_at', null],
    ['calendar_expires_at', null],
  ])
  const path = `/manage/users/${user.id}`
  const changed = await tenant.send<object>('PATCH', path, { json: { name: ' Sam ', email: '' } })
  expect(changed).toEqual({ ...user, name: 'Sam' })
  expect(await tenant.send('GET', '/manage/users')).toEqual([changed])
  const invalid = { email: 'x', name: 'n'.repeat(256) }
  expect((await refuse('PATCH', path, invalid)).toSorted()).toEqual(['email', 'name'])
  // The response is 404 for a missing record, even if the body is also invalid.
  const missing = await tenant.client.request('PATCH', '/manage/users/999999999', { json: invalid })
  expect(missing.status).toBe(404)
  const { reference } = await tenant.createLead({ user_id: user.id })
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  const callback = await tenant.send<object>('POST', `/leads/${reference}/callbacks`, { json: entry })

  const removed = await tenant.send('DELETE', path)
  expect(removed).toEqual({ ...changed, removed_at: timestamp })
  expect(await tenant.send('DELETE', path)).toEqual(removed)
  expect(await tenant.send('GET', path)).toEqual(removed)
  expect(await tenant.send('GET', '/manage/users')).toEqual([])
  const listed = await tenant.send('GET', `/leads/${reference}/callbacks`)
  expect(listed).toEqual([{ ...callback, cancelled_at: null, done_at: null, remind: false }])
  expect(await refuse('PATCH', path, { name: 'Late' })).toEqual(['id'])
  expect(await refuse('POST', '/leads', { ...LEAD, user_id: user.id })).toEqual(['user_id'])
  expect(await refuse('POST', `/leads/${reference}/appointments`, entry)).toEqual(['user_id'])
  const change = { user_email: 'sam@example.com' }
  expect(await refuse('PATCH', `/leads/${reference}`, change)).toEqual(['user_email'])
  const another = await newUser()
  expect(another.id).not.toBe(user.id)
  await tenant.send('PATCH', `/leads/${reference}`, { json: change })
})

test('a token is shown once, shows its last use and expiry, creates test leads if it is for tests, and can be revoked', async () => {
  const expiry = Date.now() + 13 * DAY_MS
  const expires_at = new Date(expiry).toISOString()
  const inParis = new Date(expiry + 3_600_000).toISOString().replace('Z', '+01:00')
  const json = { name: 'Website', scopes: ['manage', 'leads'], expires_at: inParis, test: true }
  const { token, ...record } = await tenant.send<Named>('POST', '/manage/tokens', { json })
  expect(token).toMatch(/^lw_test_[\w-]{27,}$/)
  expect(record).toEqual({
    id: expect.any(Number),
    name: 'Website',
    scopes: ['leads', 'manage'],
    test: true,
    endpoint_id: null,
    expires_at: expires_at.replace('Z', '000Z'),
    last_used_at: null,
    revoked_at: null,
    created_at: timestamp,
    created_by: { id: expect.any(Number), name: expect.any(String) },
    created_by_user: null,
    expires_soon: true,
    publishable: false,
    origins: [],
    return_url: null,
    honeypot: null,
  })
  const listed = async () => {
    const tokens = await tenant.send<Named[]>('GET', '/manage/tokens')
    return tokens.find(({ id }) => id === record.id)
  }
  expect(await listed()).toEqual(record)
  const options = { token: String(token), json: LEAD }
  for (const path of ['/leads', '/manage/leads'])
    expect(await tenant.send('POST', path, options)).toMatchObject({ test: 1, status: 'open' })
  expect(await tenant.createLead()).toMatchObject({ test: 0 })
  const own = await tenant.client.request('GET', '/token', { token: String(token) })
  expect(own.json).toMatchObject({ data: { id: record.id, name: 'Website', scopes: ['leads', 'manage'] } })
  expect(own.headers['token-expires-at']).toBe(record['expires_at'])
  await eventually(async () => expect(await listed()).toEqual({ ...record, last_used_at: timestamp }))

  const revoked = await tenant.send('DELETE', `/manage/tokens/${record.id}`)
  expect(revoked).toMatchObject({ id: record.id, revoked_at: timestamp, expires_soon: false })
  expect(await tenant.client.request('DELETE', '/manage/tokens/999999999')).toMatchObject({ status: 404 })
  const past = { name: 'a', scopes: ['leads'], expires_at: '2001-01-01T00:00:00Z' }
  expect(await refuse('POST', '/manage/tokens', past)).toEqual(['expires_at'])
})

test.each([
  ['/manage/users', (n: number) => ({ email: `u${n}@example.com`, name: `U${n}` })],
  ['/manage/tokens', (n: number) => ({ name: `T${n}`, scopes: ['leads'] })],
])('%s is read page by page', async (path, buildFields) => {
  for (let n = 1; n <= 4; n += 1) await tenant.send('POST', path, { json: buildFields(n) })
  const all = await tenant.send<Named[]>('GET', path)
  const seen: number[] = []
  let cursor: string | null = null
  do {
    const query: string = cursor === null ? 'limit=2' : `limit=2&cursor=${cursor}`
    const { status, json } = await tenant.client.request<{ data: Named[]; next_cursor: string | null }>(
      'GET',
      `${path}?${query}`,
    )
    expect(status).toBe(200)
    expect(json.data.length).toBeLessThanOrEqual(2)
    seen.push(...json.data.map(({ id }) => id))
    cursor = json.next_cursor
  } while (cursor !== null)
  expect(seen).toEqual(all.map(({ id }) => id))
  for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'page=2'])
    expect((await tenant.client.request('GET', `${path}?${query}`)).status).toBe(422)
})

test('a token cannot create a token with more rights: no wider scopes, no later expiry, no live leads', async () => {
  const expires_at = new Date(Date.now() + DAY_MS).toISOString()
  const later = new Date(Date.parse(expires_at) + 1).toISOString()
  const scopes = ['leads', 'manage']
  const [manager, tester, ending] = [
    await tenant.newToken({ scopes: ['manage'] }),
    await tenant.newToken({ scopes, test: true }),
    await tenant.newToken({ scopes, expires_at }),
  ]
  const make = (token: string, fields: object) =>
    tenant.client.request<{ data: object; errors: object }>('POST', '/manage/tokens', {
      token,
      json: { name: 'Form', scopes: ['leads'], ...fields },
    })
  const wider = 'The new token cannot have the scopes leads, leads:read, because this token lacks them.'
  const past = `The expires at field is required and may not be after ${expires_at}, when this token expires.`
  const refused: [token: string, fields: object, errors: object][] = [
    [manager.token, { scopes: ['leads', 'leads:read', 'manage'] }, { scopes: [wider] }],
    [tester.token, { test: false }, { test: ['A test token can create only test tokens.'] }],
    [ending.token, {}, { expires_at: [past] }],
    [ending.token, { expires_at: later }, { expires_at: [past] }],
  ]
  for (const [token, fields, errors] of refused)
    expect(await make(token, fields)).toMatchObject({ status: 422, json: { errors } })
  expect(await tenant.send('GET', '/manage/tokens')).toHaveLength(4)

  const made: [token: string, fields: object, record: object][] = [
    [manager.token, { scopes: ['manage:read', 'webhooks'] }, { scopes: ['webhooks', 'manage:read'] }],
    [tester.token, {}, { test: true }],
    [ending.token, { expires_at }, { expires_at: expires_at.replace('Z', '000Z') }],
    [tenant.token, { scopes: ['leads:read'] }, { scopes: ['leads:read'], expires_at: null, test: false }],
  ]
  for (const [token, fields, record] of made)
    expect(await make(token, fields)).toMatchObject({ status: 200, json: { data: record } })
})

test('a calendar shows the entries of its user at a secret address, follows changes, and ends when it is revoked', async () => {
  const user = await newUser('sam@example.com', 'Bay, Sam')
  const makeCalendar = async () =>
    (await tenant.send<{ url: string }>('POST', `/manage/users/${user.id}/calendar`)).url
  const first = await makeCalendar()
  expect(first).toMatch(/^http.*\/calendars\/lw_cal_[\w-]{43}\.ics$/)
  const calendar = await makeCalendar()
  expect([(await read(first)).status, (await read(calendar)).status]).toEqual([404, 200])

  const { reference } = await tenant.createLead({ name: 'Bay; window' })
  const schedule = async (kind: string, user_id = user.id) => {
    const json = { user_id, notify: false, date: '24/12/2199 14:30' }
    return `/leads/${reference}/${kind}/${(await tenant.send('POST', `/leads/${reference}/${kind}`, { json })).id}`
  }
  const [appointment, callback] = [await schedule('appointments'), await schedule('callbacks')]
  await schedule('appointments', (await newUser('kim@example.com', 'Kim')).id)
  const listLines = async () => (await read(calendar)).text.replaceAll('\r\n ', '').split('\r\n')
  const lines = await listLines()
  expect(lines.filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(2)
  expect(lines).toEqual(
    expect.arrayContaining([
      'X-WR-CALNAME:Leadwire: Bay\\, Sam',
      `UID:appointment-${appointment.split('/').pop()}@leadwire`,
      'SUMMARY:Appointment: Bay\\; window',
      'SUMMARY:Callback: Bay\\; window',
      'DTSTART:21991224T143000Z',
    ]),
  )
  const { headers } = await read(calendar)
  expect(headers).toMatchObject({
    'content-type': 'text/calendar; charset=utf-8',
    'cache-control': 'private, no-cache',
  })
  const tag = { 'if-none-match': String(headers['etag']) }
  expect(await read(calendar, tag)).toMatchObject({ status: 304, text: '' })

  await tenant.send('PATCH', appointment, { json: { date: '25/12/2199 09:00' } })
  await tenant.send('DELETE', callback)
  const moved = await listLines()
  expect(moved.filter((line) => line === 'BEGIN:VEVENT')).toHaveLength(1)
  expect(moved).toEqual(expect.arrayContaining(['DTSTART:21991225T090000Z', 'SEQUENCE:1']))
  expect((await read(calendar, tag)).status).toBe(200)

  const revoked = await tenant.send('DELETE', `/manage/users/${user.id}/calendar`)
  expect(revoked).toMatchObject({ id: user.id, calendar_created_at: null })
  expect((await read(calendar)).status).toBe(404)
  const last = await makeCalendar()
  await tenant.send('DELETE', `/manage/users/${user.id}`)
  expect((await read(last)).status).toBe(404)
})

test('revoking a token revokes calendars that expire with it, and with cascade everything that it created', async () => {
  const makeCalendar = async (token: string, email: string) => {
    const { id } = await newUser(email)
    const path = `/manage/users/${id}/calendar`
    return tenant.send<{ url: string; expires_at: string | null }>('POST', path, { token })
  }
  const requestStatus = async (path: string, token = '') =>
    (await tenant.client.request('GET', path, { token })).status
  const revoke = (id: number, query = '') => tenant.send('DELETE', `/manage/tokens/${id}${query}`)
  const expires_at = new Date(Date.now() + DAY_MS).toISOString()
  const expiring = await tenant.newToken({ scopes: ['manage'], expires_at })
  const calendar = await makeCalendar(expiring.token, 'sam@example.com')
  expect(calendar.expires_at).toBe(expires_at.replace('Z', '000Z'))
  expect(await requestStatus(calendar.url)).toBe(200)
  await revoke(expiring.id)
  expect(await requestStatus(calendar.url)).toBe(404)

  const lasting = await tenant.newToken({ name: 'Lasting', scopes: ['manage', 'leads'] })
  const json = { name: 'Child', scopes: ['manage'] }
  const child = await tenant.send<Named>('POST', '/manage/tokens', { token: lasting.token, json })
  expect(child['created_by']).toEqual({ id: lasting.id, name: 'Lasting' })
  const { id: endpoint } = await tenant.listen()
  const portal = `/manage/webhook-endpoints/${endpoint}/portal`
  const { url: link } = await tenant.send<{ url: string }>('POST', portal, { token: String(child['token']) })
  const kept = await makeCalendar(lasting.token, 'kim@example.com')
  expect(kept.expires_at).toBeNull()
  await revoke(lasting.id)
  const awaitStatus = (status: number, path: string, token: string) =>
    eventually(async () => expect(await requestStatus(path, token)).toBe(status))
  await awaitStatus(401, '/manage/users', lasting.token)
  expect([
    await requestStatus(kept.url),
    await requestStatus('/manage/users', String(child['token'])),
  ]).toEqual([200, 200])

  for (const query of ['cascade=maybe', 'casc=1', 'cascade=1&cascade=1'])
    expect(await tenant.client.request('DELETE', `/manage/tokens/${lasting.id}?${query}`)).toMatchObject({
      status: 422,
    })
  await revoke(lasting.id, '?cascade=1')
  await awaitStatus(401, '/manage/users', String(child['token']))
  const token = link.split('#portal=')[1]!
  expect((await tenant.client.request('POST', '/portal-sessions', { token })).status).toBe(401)
  expect(await requestStatus(kept.url)).toBe(404)
  const tokens = await tenant.send<Named[]>('GET', '/manage/tokens')
  expect(tokens.filter(({ revoked_at }) => !revoked_at)).toMatchObject([{ created_by: null }])
})

test('an image has a public permanent address that runs no scripts; an attachment cannot be used as an image', async () => {
  const upload = (value: Buffer, fileName: string) =>
    tenant.send<Named & { url: string }>('POST', '/manage/images', {
      multipart: [
        { name: 'alt', value: 'A window' },
        { name: 'file', value, fileName },
        { name: 'name', value: 'Front' },
      ],
    })
  for (const { extension, type, bytes } of SAMPLES.filter((sample) => sample.type.startsWith('image/'))) {
    const image = await upload(bytes, `C:\\photos\\front.${extension}`)
    expectRecord(image, IMAGE_TABLE)
    expect(image).toMatchObject({
      name: 'Front',
      alt: 'A window',
      file_name: `front.${extension}`,
      public: 1,
    })
    const served = await read(image.url)
    expect([served.status, served.bytes]).toEqual([200, bytes])
    expect(served.headers).toMatchObject({
      'content-type': type,
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-security-policy': expect.stringMatching(/^sandbox;? ?(?!.*allow)/),
    })
    if (extension === 'svg') expect(served.headers['content-disposition']).toMatch(/^attachment/)
    const known = { 'if-none-match': String(served.headers['etag']) }
    expect(await read(image.url, known)).toMatchObject({ status: 304, text: '' })
    expect((await read(image.url.replace(/[0-9a-f]{12}\./, '000000000000.'), known)).status).toBe(404)
  }
  const { url } = await upload(IMAGE[0]!.value as Buffer, 'front.png')
  expect((await read(url.replace('/images/', '/attachments/'))).status).toBe(404)
})

test('the account has a key and a contact, and its reconciliation finds nothing unexplained', async () => {
  const account = await tenant.send<object>('GET', '/manage/account')
  const { api_key } = tenant.account
  expect(account).toEqual({
    name: 'Spec',
    api_key,
    contact_email: null,
    appointment_due_minutes: 60,
    callback_due_minutes: 0,
    created_at: timestamp,
  })
  const changes = { contact_email: 'it@example.com', appointment_due_minutes: 0, callback_due_minutes: 10 }
  let changed = account
  for (const [name, value] of Object.entries(changes)) {
    const response = await tenant.send<object>('PATCH', '/manage/account', { json: { [name]: value } })
    expect(response).toEqual({ ...changed, [name]: value })
    changed = response
  }
  expect(await tenant.send('GET', '/manage/account')).toEqual(changed)
  const invalid = { contact_email: 'it', appointment_due_minutes: -1, callback_due_minutes: 10_081 }
  const refused = await refuse('PATCH', '/manage/account', invalid)
  expect(refused.toSorted()).toEqual(Object.keys(invalid).toSorted())
  const reconciliation = await tenant.send('GET', '/manage/reconciliation')
  expect(reconciliation).toMatchObject({ unexplained_count: 0, unexplained: [] })
})

test('the lead retention is counted, set, shown and ended', async () => {
  const path = '/manage/lead-retention'
  const rule = { statuses: ['lost', 'spam'], months: 24 }
  const counted = { ...rule, matched: 0, matched_capped: false }
  expect(await tenant.send('PUT', path, { json: { ...rule, dry_run: true } })).toEqual(counted)
  expect(await tenant.send('GET', path)).toBeNull()
  expect(await tenant.send('PUT', path, { json: rule })).toEqual(counted)
  expect(await tenant.send('GET', path)).toEqual(rule)
  expect(await refuse('PUT', path, { statuses: ['gone'], months: 0 })).toEqual(['statuses.0', 'months'])
  expect(await refuse('PUT', path, { statuses: [] })).toEqual(['months', 'statuses'])
  expect(await tenant.send('DELETE', path)).toBeNull()
  expect(await tenant.send('GET', path)).toBeNull()
})

test('a person saves, replaces and deletes views of the list of leads, and a token has none', async () => {
  const signIn = async (role: string) => {
    const { id } = await tenant.newUser(role)
    return { token: '', headers: { cookie: await tenant.signIn(id), 'sec-fetch-site': 'same-origin' } }
  }
  const [viewer, seller] = [await signIn('viewer'), await signIn('sales')]
  const path = `/manage/views/${encodeURIComponent('Sold / £, mine?')}`
  const view = { filters: { status: 'sold', test: false, postcode: 'sw1' }, sort: '-updated_at' }
  const saved = await tenant.send('PUT', path, { ...viewer, json: view })
  expect(saved).toEqual({
    name: 'Sold / £, mine?',
    ...view,
    created_at: timestamp,
    updated_at: timestamp,
  })
  expect(await tenant.send('GET', '/manage/views', viewer)).toEqual([saved])
  expect(await tenant.send('GET', '/manage/views', seller)).toEqual([])
  const replaced = await tenant.send<object>('PUT', path, { ...viewer, json: { filters: {} } })
  expect(replaced).toMatchObject({ filters: {}, sort: null })
  const answer = (method: string, to: string, options: object) =>
    tenant.client.request<{ errors?: object }>(method, to, options)
  const invalid = { filters: { status: 'gone', color: 'red', user_id: 'me' }, sort: 'name' }
  const refused = await answer('PUT', `/manage/views/${'n'.repeat(101)}`, { ...viewer, json: invalid })
  expect([refused.status, Object.keys(refused.json.errors ?? {}).toSorted()]).toEqual([
    422,
    ['filters.color', 'filters.status', 'filters.user_id', 'name', 'sort'],
  ])
  const blank = await answer('PUT', '/manage/views/%20', { ...viewer, json: {} })
  expect([blank.status, Object.keys(blank.json.errors ?? {})]).toEqual([422, ['name', 'filters']])
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const to = method === 'GET' ? '/manage/views' : path
    const { status, text } = await answer(method, to, method === 'PUT' ? { json: view } : {})
    expect([method, status]).toEqual([method, 404])
    expect(text).toContain('A token has no views.')
  }
  expect(await answer('DELETE', path, seller)).toMatchObject({ status: 404 })
  expect(await tenant.send('DELETE', path, viewer)).toEqual(replaced)
  expect(await tenant.send('GET', '/manage/views', viewer)).toEqual([])
})

test('a note names its author, is sent to endpoints, and is found by its words until it is deleted', async () => {
  const { receiver } = await tenant.listen({ events: ['note.added'] })
  const lead = await tenant.createLead()
  const path = `/manage/leads/${lead.reference}/notes`
  type Note = Named & { text: string }
  const { id: userId } = await tenant.newUser('sales', { name: 'Grace Hopper' })
  const headers = { cookie: await tenant.signIn(userId), 'sec-fetch-site': 'same-origin' }
  const json = { text: ' Called back.\r\nWants conservatory. ' }
  const note = await tenant.send<Note>('POST', path, { token: '', headers, json })
  const author = { type: 'user', id: userId, name: 'Grace Hopper' }
  const text = 'Called back.\r\nWants conservatory.'
  expect(note).toEqual({ id: note.id, text, author, created_at: timestamp, updated_at: null })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(JSON.parse(receiver.requests[0]!.body.toString())).toEqual({
    type: 'note.added',
    data: { ...note, lead_reference: lead.reference },
  })
  const find = async (q: string) =>
    (await tenant.send<Lead[]>('GET', `/leads?q=${q}`)).map(({ reference }) => reference)
  await eventually(async () => expect(await find('conserv')).toEqual([lead.reference]))

  const changed = await tenant.send<Note>('PATCH', `${path}/${note.id}`, { json: { text: 'Wants a porch.' } })
  expect(changed).toEqual({ ...note, text: 'Wants a porch.', updated_at: timestamp })
  expect(await find('conserv')).toEqual([])
  const second = await tenant.send<Note>('POST', path, { json: { text: 'x'.repeat(10_000) } })
  expect(second['author']).toMatchObject({ type: 'token', name: 'first' })
  const { json: listed } = await tenant.client.request('GET', path)
  expect(listed).toEqual({ data: [second, changed], next_cursor: null })
  for (const invalid of [{}, { text: ' \n ' }, { text: 'x'.repeat(10_001) }, { text: 7 }]) {
    expect(await refuse('POST', path, invalid)).toEqual(['text'])
    expect(await refuse('PATCH', `${path}/${note.id}`, invalid)).toEqual(['text'])
    const unknown = await tenant.client.request('PATCH', `${path}/999999999`, { json: invalid })
    expect(unknown.status).toBe(404)
  }
  expect(await tenant.send('DELETE', `${path}/${note.id}`)).toEqual(changed)
  expect(await tenant.client.request('DELETE', `${path}/${note.id}`)).toMatchObject({ status: 404 })
  expect(await find('porch')).toEqual([])
  expect(await tenant.send('GET', path)).toEqual([second])
  expect(await tenant.send('GET', `/leads/${lead.reference}`)).toEqual(lead)
  expect(receiver.requests).toHaveLength(2)
})

test('the leads of a person are found by e-mail address and telephone number, and exported with all their data', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith({ status: 200, body: 'thank you' })
  const { id: user_id } = await newUser()
  const { reference } = await tenant.createLead({ email: 'Ada@Example.com', mobile: '07700 900 461' })
  const path = `/leads/${reference}`
  const entry = { user_id, notify: true, date: '24/12/2027 14:30' }
  const appointment = await tenant.send('POST', `${path}/appointments`, { json: entry })
  const callback = await tenant.send('POST', `${path}/callbacks`, { json: { ...entry, notify: false } })
  const attachment = await tenant.send('POST', `${path}/attachments`, {
    multipart: [
      { name: 'name', value: 'Survey' },
      { name: 'file', value: 'of the house', fileName: 'survey.txt' },
    ],
  })
  const note = await tenant.send('POST', `/manage${path}/notes`, { json: { text: 'Wants oak.' } })
  await tenant.send('PATCH', path, { json: { status: 'sold' } })
  const managed = await tenant.send('GET', `/manage${path}`)
  const history = await tenant.send('GET', `/manage${path}/history`)
  const exported = await eventually(async () => {
    const found = await tenant.send<{ webhooks: object[] }>('GET', `/manage${path}/export`)
    expect(found).toMatchObject({
      lead: managed,
      history,
      appointments: [appointment],
      callbacks: [callback],
      notes: [note],
      attachments: [attachment],
      notifications: [{ body: { user_email: 'sam@example.com' }, deliveries: [{ status: 'delivered' }] }],
      complete: true,
    })
    expect(found.webhooks).toHaveLength(6)
    expect(found.webhooks).toContainEqual(
      expect.objectContaining({
        deliveries: [
          expect.objectContaining({
            status: 'delivered',
            attempts: [expect.objectContaining({ number: 1, response: 'thank you' })],
          }),
        ],
      }),
    )
    return found
  })

  for (let count = 0; count < 20; count += 1) await tenant.createLead()
  type Page = { data: { lead: Lead }[]; next_cursor: string | null }
  const find = async (query: Record<string, string>) => {
    const { status, json } = await tenant.client.request<Page>(
      'GET',
      `/manage/persons/export?${new URLSearchParams(query)}`,
    )
    expect([query, status]).toEqual([query, 200])
    return json
  }
  const email = 'ADA@example.com'
  const first = await find({ email })
  expect(first.data).toHaveLength(20)
  expect(await find({ email, cursor: first.next_cursor! })).toEqual({ data: [exported], next_cursor: null })
  expect((await find({ phone: '+44 7700 900461' })).data).toEqual([exported])
  expect((await find({ email: 'nobody@example.com' })).data).toEqual([])
  const unclear = [
    '',
    'email=ada',
    'phone=none',
    `email=${email}&phone=07700900461`,
    `email=${email}&cursor=0`,
  ]
  for (const query of unclear) {
    const { status } = await tenant.client.request('GET', `/manage/persons/export?${query}`)
    expect([query, status]).toEqual([query, 422])
  }
  // A plus sign in a query means a space.
  const unescaped = await tenant.client.request('GET', '/manage/persons/export?phone=+353871234567')
  const errors = { phone: ['The phone starts with a space. Write a "+" as %2B.'] }
  expect(unescaped).toMatchObject({ status: 422, json: { errors } })
})

test('an erased lead keeps its figures, shows no personal data in any response, and cannot be changed', async () => {
  const { receiver } = await tenant.listen()
  const secret = 'unmistakable'
  const { json, headers } = await tenant.client.request<{ data: Lead }>('POST', '/manage/leads', {
    json: {
      ...LEAD,
      name: `${secret} name`,
      first_name: secret,
      email: `${secret}@example.com`,
      description: secret,
      value: 4200,
      external_id: secret,
      attributes: { note: secret },
      quotes: [],
    },
    headers: { 'idempotency-key': 'erased' },
  })
  const before = json.data
  const path = `/leads/${before.reference}`
  const attachment = await tenant.send<{ url: string }>('POST', `${path}/attachments`, {
    multipart: [
      { name: 'name', value: secret },
      { name: 'file', value: secret, fileName: `${secret}.txt` },
    ],
  })
  await tenant.send('POST', `/manage${path}/notes`, { json: { text: secret } })
  await tenant.send('PATCH', path, { json: { status: 'sold' } })
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  expect(await tenant.client.request('GET', `/manage${path}/erasure`)).toMatchObject({ status: 404 })
  const accepted = await tenant.client.request('POST', `/manage${path}/erase`)
  expect(accepted).toMatchObject({ status: 202, json: { data: { lead_reference: before.reference } } })
  const receipt = await eventually(
    async () => {
      const found = await tenant.send<object>('GET', `/manage${path}/erasure`)
      // `receivers` is null until webhook-service has stored the event `lead.erased`. No endpoint subscribes
      // to this event.
      expect(found).toMatchObject({ status: 'done', finished_at: timestamp, receivers: [] })
      return found
    },
    { timeoutMs: 60_000 },
  )
  expect(await tenant.send('POST', `/manage${path}/erase`)).toMatchObject(receipt)

  const { id, created_at, referrer } = before
  const after = await tenant.client.request('GET', path)
  expect(after.headers['etag']).not.toBe(headers['etag'])
  expect(after.json).toMatchObject({
    data: { id, created_at, referrer, value: 4200, status: 'sold', name: '', customer: { email: '' } },
  })
  const lists = ['/leads', '/manage/exports', '/manage/deliveries', '/manage/events', '/manage/audit']
  const parts = ['', '/history', '/export', '/erasure', '/duplicates', '/notes'].map(
    (part) => `/manage${path}${part}`,
  )
  for (const address of [path, `${path}/attachments`, ...lists, ...parts]) {
    const { status, text } = await tenant.client.request('GET', address)
    expect([address, status, text.includes(secret)]).toEqual([address, 200, false])
  }
  expect((await tenant.client.request('GET', attachment.url)).status).toBe(404)
  expect(await tenant.send('GET', '/leads?q=unmistakable')).toEqual([])
  const [change] = await tenant.send<object[]>('GET', `/manage${path}/history`)
  expect(change).toMatchObject({ action: 'erased', token: { name: 'first' }, changes: [] })

  const entry = { user_id: (await newUser()).id, notify: false, date: '24/12/2027 14:30' }
  const refused = [
    await tenant.client.request('PATCH', path, { json: { status: 'open' } }),
    await tenant.client.request('POST', `${path}/appointments`, { json: entry }),
    await tenant.client.request('POST', `${path}/callbacks`, { json: entry }),
    await tenant.client.request('PATCH', `${path}/callbacks/1`, { json: entry }),
    await tenant.client.request('DELETE', `${path}/callbacks/1`),
    await tenant.client.request('POST', `${path}/attachments`, {
      multipart: [{ name: 'name', value: 'Late' }, ...IMAGE],
    }),
    await tenant.client.request('POST', `/manage${path}/notes`, { json: { text: 'Late' } }),
  ]
  for (const answer of refused)
    expect(answer).toMatchObject({ status: 409, json: { type: '/problems#lead-erased' } })
  const renewed = await tenant.client.request('PUT', `/manage/leads/external/${secret}`, { json: LEAD })
  expect(renewed.json).toMatchObject({ created: true })
})

test('figures show leads, appointments and sales by day and by group, without test leads', async () => {
  const user = await newUser()
  const [sold, open] = [await tenant.createLead({ user_id: user.id }), await tenant.createLead()]
  await tenant.createLead({ status: 'test' })
  await tenant.send('PATCH', `/leads/${sold.reference}`, { json: { status: 'sold', value: 120000 } })
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  await tenant.send('POST', `/leads/${open.reference}/appointments`, { json: entry })
  const { token } = await tenant.newToken({ scopes: ['leads:read'] })
  const ask = async (query: string) => {
    const answer = await tenant.client.request<{ data: object[] }>('GET', `/manage/figures${query}`, {
      token,
    })
    return answer.json
  }
  const day = expect.stringMatching(/^\d{4}-\d\d-\d\d$/)
  const none = { response_median_seconds: null, response_p90_seconds: null }
  const seconds = expect.any(Number)
  const some = { response_median_seconds: seconds, response_p90_seconds: seconds }
  const daily = { day, created: 2, appointments: 1, sold: 1, lost: 0, value_sold: 120000, ...some }
  await eventually(async () => expect(await ask('')).toEqual({ data: [daily], is_current: true }))
  expect(await ask('?group_by=status,user')).toEqual({
    data: [
      { status: 'open', user: null, created: 1, appointments: 1, sold: 0, lost: 0, value_sold: 0, ...some },
      {
        status: 'sold',
        user: { id: user.id, name: 'Sam Bay' },
        created: 1,
        appointments: 0,
        sold: 1,
        lost: 0,
        value_sold: 120000,
        ...none,
      },
    ],
    is_current: true,
  })
  expect(await ask('?from=2001-01-01&to=2001-12-31')).toEqual({ data: [], is_current: true })

  for (const [query, field] of [
    ['from=2026-02-01&to=2026-01-31', 'to'],
    ['from=2025-01-01&to=2026-01-02', 'from'],
    ['from=2026-02-30', 'from'],
    ['to=2026-11-21T09:30:00Z', 'to'],
    ['group_by=day,day', 'group_by'],
    ['group_by=postcode', 'group_by'],
    ['status=sold', 'status'],
  ]) {
    const answer = await tenant.client.request<{ errors: object }>('GET', `/manage/figures?${query}`)
    expect([query, answer.status, Object.keys(answer.json.errors ?? {})]).toEqual([query, 422, [field]])
  }
})
