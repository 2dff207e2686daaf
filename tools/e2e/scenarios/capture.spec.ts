import { eventually } from '@leadwire/test-kit'
import { FORM, publish, RETURN_URL, readReference } from '../support/capture'
import { type Client, createClient, type Part } from '../support/client'
import { PNG, SAMPLES } from '../support/samples'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../support/stage'

const STRANGER = 'https://other.example'

let stage: SharedStage
let tenant: Tenant
/** Sends from an address that no other spec file uses. */
let visitors: Client
beforeAll(async () => {
  stage = await joinStage()
  visitors = createClient(stage.system.baseUrl, { localAddress: '127.0.0.2' })
})
afterAll(async () => {
  await visitors?.close()
  await stage?.stop()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const countLeads = async () => (await tenant.client.request<{ total: number }>('GET', '/leads')).json.total

const toParts = (fields: Record<string, string>): Part[] =>
  Object.entries(fields).map(([name, value]) => ({ name, value }))

const file = (value: Buffer | string, fileName: string, name = 'photo'): Part => ({ name, value, fileName })

test('a publishable token can only create leads from pages of its origins, which get only the reference', async () => {
  const origin = `https://${tenant.account.id}.example`
  const { token, id, create, send } = await publish(tenant, { origins: [`${origin}/`, origin] })
  expect(token).toMatch(/^lw_pub_[\w-]{43}$/)
  const { status, json, headers } = await create(LEAD, { origin })
  expect([status, json]).toEqual([200, { data: { reference: expect.any(String) } }])
  expect(headers['access-control-allow-origin']).toBe(origin)
  const created = await tenant.send('GET', `/leads/${json.data.reference}`)
  expect(created).toMatchObject({ customer: { email: LEAD.email } })
  const invalid = await create({ ...LEAD, email: 'x' }, { origin })
  expect([invalid.status, invalid.headers['access-control-allow-origin']]).toEqual([422, origin])

  const foreign = [STRANGER, 'null', `${origin}.evil.example`, origin.replace('https', 'http')]
  for (const headers of [{}, ...foreign.map((one) => ({ origin: one }))]) {
    const refused = await create(LEAD, headers as Record<string, string>)
    expect([headers, refused.status]).toEqual([headers, 403])
    expect(refused.headers['access-control-allow-origin']).toBeUndefined()
  }
  for (const path of ['/leads', `/leads/${json.data.reference}`, '/manage/tokens', '/manage/leads']) {
    const method = path === '/manage/leads' ? 'POST' : 'GET'
    const refused = await tenant.client.request(method, path, { token, headers: { origin } })
    expect([path, refused.status]).toEqual([path, 403])
  }

  const preflight = (from: string, path = '/leads') =>
    tenant.client.request('OPTIONS', path, {
      token: '',
      headers: { origin: from, 'access-control-request-method': 'POST' },
    })
  for (const path of ['/leads', `/capture/${token}`])
    expect(await preflight(origin, path)).toMatchObject({
      status: 204,
      headers: {
        'access-control-allow-origin': origin,
        'access-control-allow-headers': expect.stringMatching(/Authorization, Content-Type/),
        'access-control-max-age': '7200',
      },
    })
  expect((await preflight(origin, '/manage/tokens')).headers['access-control-allow-origin']).toBeUndefined()
  expect((await preflight(STRANGER)).status).toBe(405)
  await tenant.send('DELETE', `/manage/tokens/${id}`)
  await eventually(async () => expect((await create({}, { origin })).status).toBe(401))
  await eventually(async () => expect((await preflight(origin)).status).toBe(405))
  expect((await send({ form: FORM }, origin)).status).toBe(404)
  const other = await tenant.client.request('POST', `/capture/${tenant.token}`, { token: '', form: FORM })
  expect(other.status).toBe(404)
  expect(await countLeads()).toBe(1)
})

test('a form becomes one lead with its files and other fields, and the visitor is redirected with its reference', async () => {
  const { receiver } = await tenant.listen()
  const { send } = await publish({ ...tenant, client: visitors }, { return_url: RETURN_URL })
  const pdf = SAMPLES.find(({ extension }) => extension === 'pdf')!.bytes
  const fields = { ...FORM, title: 'Kitchen', description: 'a\nb', utm_source: 'ad', 'Your-Message': ' Hi ' }
  const multipart = [
    ...toParts(fields),
    file('', ''),
    file(PNG, 'a.png'),
    file(pdf, 'C:\\plans\\b.pdf', 'plan'),
  ]
  const headers = { 'user-agent': 'Firefox/145.0' }
  // Sends as many forms with files at once as an IP address may. A form with files that another spec file
  // sends from the same address at this time would be refused.
  const answers = await Promise.all(Array.from({ length: 4 }, () => send({ multipart, headers })))
  const [reference, ...others] = new Set(answers.map(readReference))
  expect(others).toEqual([])
  expect(answers[0]!.headers['location']).toBe(`${RETURN_URL}&reference=${reference}`)
  expect(await tenant.send('GET', `/manage/leads/${reference}`)).toMatchObject({
    name: 'Kitchen',
    referrer: 'Website',
    status: 'open',
    description: 'a\nb',
    user_agent: 'Firefox/145.0',
    customer: { name: 'Ada Lovelace', email: FORM['email'] },
    attributes: { utm_source: 'ad', your_message: 'Hi' },
  })
  const attached = await tenant.send<{ file_name: string }[]>('GET', `/leads/${reference}/attachments`)
  expect(attached.map(({ file_name }) => file_name).toSorted()).toEqual(['a.png', 'b.pdf'])
  // Sends no Origin, as some browsers do with a form.
  const grace = await send({ form: { ...fields, first_name: 'Grace' } }, '')
  expect(readReference(grace)).not.toBe(reference)
  await eventually(() => expect(receiver.requests).toHaveLength(2))
  expect(await countLeads()).toBe(2)

  const plain = await publish(tenant)
  const thanks = await plain.send({ form: FORM, headers: { accept: 'text/html' } })
  expect([thanks.status, thanks.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  expect(thanks.text).toContain('Thank you')
})

test('an invalid form creates no lead, and the page or the visitor gets the invalid fields', async () => {
  const returning = await publish(tenant, { return_url: RETURN_URL })
  const { phone: _, ...incomplete } = FORM
  const { status, headers } = await returning.send({ form: { ...incomplete, email: 'x' } })
  expect([status, headers['location']]).toEqual([303, `${RETURN_URL}&error=invalid&field=phone&field=email`])
  const disguised = await returning.send({ multipart: [...toParts(FORM), file('text', 'a.png')] })
  expect([disguised.status, disguised.headers['location']]).toEqual([
    303,
    expect.stringMatching(/field=photo$/),
  ])
  const plain = await publish(tenant)
  const form = { ...FORM, email: '<b>' }
  const page = await plain.send({ form, headers: { accept: 'text/html' } })
  expect([page.status, page.headers['content-type']]).toEqual([422, 'text/html; charset=utf-8'])
  expect(page.text).toContain('The email must be a valid email address.')
  expect(page.text).not.toContain('<b>')
  expect(await plain.send({ form })).toMatchObject({
    status: 422,
    json: { errors: { email: [expect.any(String)] } },
  })
  for (const origin of [STRANGER, 'null'])
    expect(await plain.send({ form: FORM }, origin)).toMatchObject({ status: 403 })
  expect(await countLeads()).toBe(0)
})

test('a form that was filled in by a program becomes spam', async () => {
  const { token, send } = await publish(tenant, { return_url: RETURN_URL, honeypot: 'fax' })
  const sendForStatus = async (fields: Record<string, string>) => {
    const reference = readReference(await send({ form: { ...FORM, ...fields } }))
    return (await tenant.send('GET', `/leads/${reference}`))['status']
  }
  expect(await sendForStatus({ fax: '1' })).toBe('spam')
  expect(await sendForStatus({ fax: ' ' })).toBe('open')
  const path = `/capture/${token}/stamp`
  let stamp = ''
  let early = 0
  // A stamp is too young for two seconds: a person needs at least this time to fill in a form. Takes another
  // stamp if the form was not sent in this time.
  const status = await eventually(async () => {
    const begun = performance.now()
    const { json } = await tenant.client.request<{ data: { stamp: string } }>('GET', path, { token: '' })
    stamp = json.data.stamp
    early += 1
    const found = await sendForStatus({ stamp, first_name: `Early ${early}` })
    expect(performance.now() - begun).toBeLessThan(1000)
    return found
  })
  expect(status).toBe('spam')
  // The time of the forged stamp is five seconds earlier, but its signature covers the original time.
  const forged = `${Number.parseInt(stamp, 10) - 5000}.${stamp.split('.')[1]}`
  for (const [index, one] of ['made up', forged].entries())
    expect([one, await sendForStatus({ stamp: one, first_name: `Ada ${index}` })]).toEqual([one, 'spam'])
  const headers = { origin: STRANGER }
  expect((await tenant.client.request('GET', path, { token: '', headers })).status).toBe(403)
})
