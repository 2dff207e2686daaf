import { createHmac } from 'node:crypto'
import { eventually, type ReceivedRequest, type Receiver } from '@leadwire/test-kit'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../support/stage'

type Body = { type?: string; data: Lead & { name: string } }

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const receive = (receiver: Receiver, count: number): Promise<ReceivedRequest[]> =>
  eventually(() => {
    expect(receiver.requests).toHaveLength(count)
    return receiver.requests
  })

const parseBodies = ({ requests }: Receiver) => requests.map(({ body }): Body => JSON.parse(body.toString()))

/** Computes the signature that the lead API requires for a request. */
const signService = (secret: string, { body }: ReceivedRequest) =>
  createHmac('sha1', secret).update(body).digest('hex')

/** Computes the signature that Standard Webhooks 1.0.0 requires for a request. */
const signStandard = (secret: string, { headers, body }: ReceivedRequest) => {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const prefix = `${headers['webhook-id']}.${headers['webhook-timestamp']}.`
  return `v1,${createHmac('sha256', key).update(prefix).update(body).digest('base64')}`
}

test('a created lead is posted once, with the exact headers and both signatures over the raw body', async () => {
  const { receiver, secret } = await tenant.listen()
  const image = await tenant.send('POST', '/manage/images', {
    multipart: [{ name: 'file', value: '<svg xmlns="http://www.w3.org/2000/svg"/>', fileName: 'bay.svg' }],
  })
  const item = {
    product_style_id: 7,
    name: 'Casement',
    price: 45900,
    image_id: image.id,
    product_style: { sku: 'CAS', name: 'Casement', product: { name: 'Window' } },
    options: { width: 1200, glass: 'Clear', external_frame_colour: 'Weiß' },
  }
  const lead = await tenant.send<Lead>('POST', '/manage/leads', {
    json: { ...LEAD, quotes: [{ status: 'complete', items: [item] }] },
  })

  const [request] = await receive(receiver, 1)
  expect(request!.method).toBe('POST')
  const exactNames = ['Content-Type', 'User-Agent', 'X-SERVICE-Signature', 'X-SERVICE-Account-Key']
  expect(request!.rawHeaders).toEqual(expect.arrayContaining(exactNames))
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'user-agent': expect.stringMatching(/^Leadwire\/\d+\.\d+\.\d+$/),
    'x-service-signature': signService(secret, request!),
    'x-service-account-key': tenant.account.api_key,
    'webhook-signature': signStandard(secret, request!),
    'webhook-sequence': '1',
    'webhook-lead-version': '1',
  })

  // A webhook omits `product_style`, which only the response of Retrieve Lead has.
  const withoutStyle = (name: string, value: unknown) => (name === 'product_style' ? undefined : value)
  expect(request!.body.toString()).toBe(JSON.stringify({ data: lead }, withoutStyle))
  expect(parseBodies(receiver)[0]).toMatchObject({
    data: { quotes: [{ items: [{ image: { id: image.id }, options: item.options }] }] },
  })
})

test('each change of a lead is sent to subscribed endpoints, numbered in the order of the account', async () => {
  const events = [
    'lead.updated',
    'appointment.scheduled',
    'appointment.rescheduled',
    'appointment.cancelled',
    'callback.scheduled',
    'callback.rescheduled',
    'callback.cancelled',
    'attachment.added',
  ]
  const all = await tenant.listen({ events })
  const ordinary = await tenant.listen()
  const { id: user_id } = await tenant.send('POST', '/manage/users', {
    json: { email: 'sam@example.com', name: 'Sam' },
  })
  const { reference } = await tenant.createLead()
  // Waits for each event, because events that are published at the same time may be stored in another order.
  const [created] = await receive(ordinary.receiver, 1)
  const responses: object[] = []
  const change = async (method: string, path: string, options = {}) => {
    const data = await tenant.send(method, `/leads/${reference}${path}`, options)
    responses.push(data)
    await receive(all.receiver, responses.length)
    return data
  }
  await change('PATCH', '', { json: { status: 'sold' } })
  for (const kind of ['appointments', 'callbacks']) {
    const entry = { user_id, notify: false, date: '24/12/2027 14:30' }
    const { id } = await change('POST', `/${kind}`, { json: entry })
    await change('PATCH', `/${kind}/${id}`, { json: { date: '25/12/2027 09:00' } })
    await change('DELETE', `/${kind}/${id}`)
  }
  await change('POST', '/attachments', {
    multipart: [
      { name: 'name', value: 'Notes' },
      { name: 'file', value: 'Ring twice.', fileName: 'notes.txt', type: 'text/plain' },
    ],
  })

  const bodies = parseBodies(all.receiver)
  expect(bodies.map(({ type }) => type)).toEqual(events)
  const [{ customer: _, quotes: __, ...updated }, ...others] = responses as [Lead, ...Lead[]]
  expect(bodies[0]!.data).toEqual({ ...updated, changes: [{ field: 'status', from: 'open', to: 'sold' }] })
  for (const [index, response] of others.entries())
    expect(bodies[index + 1]!.data).toMatchObject({ ...response, lead_reference: reference })

  const numbers = all.receiver.requests.map(({ headers }) => Number(headers['webhook-sequence']))
  expect(created!.headers['webhook-sequence']).toBe('1')
  expect(numbers).toEqual([2, 3, 4, 5, 6, 7, 8, 9])
  const versions = all.receiver.requests.map(({ headers }) => Number(headers['webhook-lead-version']))
  // Some versions repeat: an added attachment, for example, does not change the version of the lead.
  expect(versions).toEqual([2, 2, 3, 4, 4, 5, 6, 6])
  expect(parseBodies(ordinary.receiver).map((body) => Object.keys(body))).toEqual([['data']])
})

test('an endpoint gets only the events, leads and parts of a body that it selects', async () => {
  const { token: testToken } = await tenant.newToken({ test: true })
  const { id: user_id } = await tenant.send('POST', '/manage/users', {
    json: { email: 'Sam@Example.com', name: 'Sam' },
  })
  const expected: [fields: object, names: string[]][] = [
    [{}, ['kitchen', 'porch', 'roof', 'trial']],
    [{ include: ['attributes'] }, ['kitchen', 'porch', 'roof', 'trial']],
    [{ leads: 'live' }, ['kitchen', 'porch', 'roof']],
    [{ leads: 'test' }, ['trial']],
    [{ filter: { status: ['sold', 'lost'] } }, ['roof']],
    [{ filter: { postcode: ['m1'] } }, ['porch', 'roof']],
    [{ filter: { user_email: ['sam@example.com'] } }, ['kitchen']],
    [{ filter: { status: ['open'], postcode: ['M1'], referrer: ['Phone'] } }, ['porch']],
    [{ events: ['lead.updated'], filter: { status: ['lost'] } }, ['porch']],
  ]
  const endpoints = await Promise.all(
    expected.map(async ([fields, names]) => ({ ...(await tenant.listen(fields)), fields, names })),
  )
  await tenant.createLead({ name: 'kitchen', user_id })
  const { reference } = await tenant.createLead({ name: 'porch', postcode: 'm124ab', referrer: 'Phone' })
  await tenant.createLead({ name: 'roof', postcode: 'M1 1AE', status: 'sold' })
  await tenant.send('POST', '/leads', { json: { ...LEAD, name: 'trial' }, token: testToken })
  await tenant.send('PATCH', `/leads/${reference}`, { json: { status: 'lost' } })

  await eventually(() => {
    const received = endpoints.map(({ fields, receiver }) => [
      fields,
      parseBodies(receiver)
        .map(({ data }) => data.name)
        .toSorted(),
    ])
    expect(received).toEqual(expected)
  })

  // No other delivery was created.
  const sent = await tenant.client.request<{ total: number }>('GET', '/manage/deliveries')
  expect(sent.json.total).toBe(expected.flatMap(([, names]) => names).length)

  const attributes = { rooms: 3, access: 'rear door' }
  await tenant.send('POST', '/manage/leads', { json: { ...LEAD, name: 'attic', attributes } })
  const [ordinary, including] = endpoints
  const findAttic = (endpoint?: { receiver: Receiver }) =>
    parseBodies(endpoint!.receiver).find(({ data }) => data.name === 'attic')
  await eventually(() => expect(findAttic(including)?.data).toMatchObject({ attributes }))
  await eventually(() => expect(findAttic(ordinary)).toBeDefined())
  expect(findAttic(ordinary)!.data).not.toHaveProperty('attributes')
})

test('during the overlap the interface’s header uses the old secret, and both secrets sign Standard Webhooks', async () => {
  const { receiver, id, secret: old } = await tenant.listen()
  const rotate = async (json: object) =>
    (await tenant.send<{ secret: string }>('POST', `/manage/webhook-endpoints/${id}/rotate-secret`, { json }))
      .secret
  const fresh = await rotate({ overlap: '24h' })
  expect(fresh).not.toBe(old)
  await tenant.createLead()
  const [during] = await receive(receiver, 1)
  expect(during!.headers['x-service-signature']).toBe(signService(old, during!))
  expect(String(during!.headers['webhook-signature']).split(' ').toSorted()).toEqual(
    [signStandard(old, during!), signStandard(fresh, during!)].toSorted(),
  )

  const last = await rotate({ overlap: '0s' })
  await tenant.createLead()
  const [, after] = await receive(receiver, 2)
  expect(after!.headers).toMatchObject({
    'x-service-signature': signService(last, after!),
    'webhook-signature': signStandard(last, after!),
  })
})

test('a test send is a signed sample to one endpoint only, and its response shows the result of the attempt', async () => {
  const { receiver, id, secret } = await tenant.listen({ filter: { status: ['sold'] } })
  const other = await tenant.listen()
  const send = (json: object = {}) =>
    tenant.send<{ id: number }>('POST', `/manage/webhook-endpoints/${id}/test`, { json })
  expect(await send()).toMatchObject({ status: 'delivered', attempt: { status: 200, error: null } })
  const [sample] = await receive(receiver, 1)
  expect(sample!.headers).toMatchObject({
    'x-service-signature': signService(secret, sample!),
    'x-service-account-key': tenant.account.api_key,
  })
  expect(sample!.headers).not.toHaveProperty('webhook-sequence')
  expect(parseBodies(receiver)[0]).toMatchObject({ data: { test: 1, type: 'quote' } })

  receiver.answerWith({ status: 302, headers: { location: other.receiver.url } })
  const failed = await send()
  const attempt = {
    number: 1,
    status: 302,
    error: 'http_status',
    reason: '302: redirects are not followed.',
  }
  expect(failed).toMatchObject({ status: 'pending', attempt })
  expect(await tenant.send('GET', `/manage/deliveries/${failed.id}`)).toMatchObject({ attempts: [attempt] })

  const { reference } = await tenant.createLead()
  expect(await send({ lead_reference: reference })).toMatchObject({
    filter: { passes: false, failed: ['status'] },
  })
  // The sender followed no redirect, and the other endpoint got the lead but no sample.
  await receive(other.receiver, 1)
  expect(parseBodies(other.receiver)).toMatchObject([{ data: { reference } }])
  expect((await tenant.client.request('GET', '/leads')).json).toMatchObject({ total: 1 })
})

test('an endpoint at a private address is refused', async () => {
  const { id } = await tenant.listen()
  const privateHosts = ['10.0.0.1', '192.168.1.1', '169.254.169.254', '[::ffff:10.0.0.1]', '[fd00::1]']
  for (const host of privateHosts)
    for (const [method, path] of [
      ['POST', '/manage/webhook-endpoints'],
      ['PATCH', `/manage/webhook-endpoints/${id}`],
    ] as const) {
      const json = { url: `http://${host}/hooks` }
      const refused = await tenant.client.request<{ errors: object }>(method, path, { json })
      const errors = { url: [expect.stringContaining('Webhooks would be blocked')] }
      expect([method, host, refused.status, refused.json.errors]).toEqual([method, host, 422, errors])
    }
})

test('a portal link opens once, and its session sees only one endpoint and its deliveries', async () => {
  const own = await tenant.listen({ description: 'Partner' })
  const other = await tenant.listen()
  await tenant.createLead()
  await Promise.all([receive(own.receiver, 1), receive(other.receiver, 1)])
  const { url } = await tenant.send<{ url: string }>('POST', `/manage/webhook-endpoints/${own.id}/portal`)
  expect(url).toMatch(new RegExp(`^${stage.system.baseUrl}/console#portal=lw_live_`))
  const link = url.split('#portal=')[1]!
  const open = () =>
    tenant.client.request<{ data: { token: string; endpoint_id: number } }>('POST', '/portal-sessions', {
      token: link,
    })
  const session = await open()
  expect(session).toMatchObject({ status: 200, json: { data: { endpoint_id: own.id } } })
  const { token } = session.json.data
  const ask = (method: string, path: string, json?: object) =>
    tenant.client.request<{ data: object }>(method, path, { token, json })

  expect((await ask('GET', '/manage/webhook-endpoints')).json.data).toMatchObject([{ id: own.id }])
  expect((await ask('GET', '/manage/webhook-endpoint-health')).json.data).toMatchObject([
    { endpoint_id: own.id },
  ])
  const deliveries = await ask('GET', '/manage/deliveries')
  expect(deliveries.json.data).toMatchObject([{ endpoint_id: own.id }])
  const replay = { state: 'all', dry_run: true }
  const hidden = [
    ['GET', `/manage/webhook-endpoints/${other.id}`, 404],
    ['PATCH', `/manage/webhook-endpoints/${other.id}`, 404],
    ['POST', `/manage/webhook-endpoints/${other.id}/replay`, 404],
    ['POST', '/manage/webhook-endpoints', 403],
    ['GET', '/leads', 403],
    ['GET', '/manage/tokens', 403],
  ] as const
  for (const [method, path, status] of hidden) {
    const json = method === 'GET' ? undefined : { url: own.receiver.url, ...replay }
    expect([method, path, (await ask(method, path, json)).status]).toEqual([method, path, status])
  }
  const foreign = await tenant.client.request<{ data: { id: number }[] }>(
    'GET',
    `/manage/deliveries?endpoint_id=${other.id}`,
  )
  expect((await ask('GET', `/manage/deliveries/${foreign.json.data[0]!.id}`)).status).toBe(404)

  expect((await open()).status).not.toBe(200)
  await tenant.send('DELETE', `/manage/webhook-endpoints/${own.id}`)
  expect((await ask('GET', '/manage/webhook-endpoints')).json.data).toEqual([])
})
