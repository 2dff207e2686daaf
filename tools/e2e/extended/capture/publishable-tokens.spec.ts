import { FORM, ORIGIN, publish } from '../../support/capture'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
})
beforeEach(async () => {
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const make = (json: object) => tenant.client.request('POST', '/manage/tokens', { json })

test('a publishable token is created, shown and listed with its fields', async () => {
  const published = { origins: ['https://A.example/', ORIGIN, ORIGIN], honeypot: 'fax', return_url: ORIGIN }
  const { json } = await make({ name: 'Form', publishable: true, ...published })
  const { token, ...record } = (json as { data: { token: string; id: number } }).data
  expect(token).toMatch(/^lw_pub_[\w-]{43}$/)
  expect(record).toMatchObject({
    publishable: true,
    scopes: ['leads:create'],
    honeypot: 'fax',
    return_url: ORIGIN,
    origins: ['https://a.example', ORIGIN],
  })
  expect(await tenant.send('GET', '/manage/tokens')).toContainEqual(record)
  const audit = await tenant.client.request('GET', '/manage/audit')
  expect(audit.text).toContain(`"origins":{"from":null,"to":["https://a.example","${ORIGIN}"]}`)
})

test.each<[object, string[]]>([
  [{ publishable: true }, ['origins']],
  [{ publishable: true, origins: [] }, ['origins']],
  [
    { publishable: true, origins: ['https://a.example/page', '*', 'null', 'https://*.a.example'] },
    ['origins.0', 'origins.1', 'origins.2', 'origins.3'],
  ],
  [{ publishable: true, origins: [ORIGIN], scopes: ['leads'] }, ['scopes']],
  [{ publishable: true, origins: [ORIGIN], endpoint_id: 1 }, ['endpoint_id']],
  [{ publishable: true, origins: [ORIGIN], return_url: 'javascript:alert(1)' }, ['return_url']],
  [{ publishable: true, origins: [ORIGIN], honeypot: 'a[b]' }, ['honeypot']],
  [{ publishable: true, origins: [ORIGIN], honeypot: 'email' }, ['honeypot']],
  [
    { scopes: ['leads'], origins: [ORIGIN], return_url: ORIGIN, honeypot: 'x' },
    ['honeypot', 'origins', 'return_url'],
  ],
  [{}, ['scopes']],
])('%j is refused', async (fields, wrong) => {
  const { status, json } = await make({ name: 'Form', ...fields })
  expect([status, Object.keys((json as { errors: object }).errors).sort()]).toEqual([422, wrong])
})

test('a field that visitors may not set is refused in JSON and ignored in a form, whether or not the user exists', async () => {
  const { create, send } = await publish(tenant)
  const user = { email: 'sam@example.com', name: 'Sam' }
  const { id } = await tenant.send<{ id: number }>('POST', '/manage/users', { json: user })
  const requestRefusal = async (user_id: number) => {
    const { status, json } = await create({ ...LEAD, user_id })
    return { status, errors: (json as unknown as { errors: object }).errors }
  }
  const refusal = await requestRefusal(id)
  expect(refusal).toEqual({ status: 422, errors: { user_id: [expect.any(String)] } })
  expect(await requestRefusal(id + 1_000_000)).toEqual(refusal)
  const leads = () => tenant.client.request<{ data: { status: string; referrer: string }[] }>('GET', '/leads')
  expect((await leads()).json.data).toEqual([])
  const wrong = { status: 'sold', referrer: 'Existing Customer' }
  for (const user_id of [id, id + 1_000_000])
    expect((await send({ form: { ...FORM, ...wrong, user_id: String(user_id) } })).status).toBe(200)
  const lead = { status: 'open', referrer: 'Website', value: 0, test: 0 }
  expect((await leads()).json.data).toMatchObject([lead, lead])
  const assigned = await tenant.client.request<{ total: number }>('GET', `/leads?assigned_to=${id}`)
  expect(assigned.json.total).toBe(0)
})

test('a repeated create with its Idempotency-Key gets the same response', async () => {
  const { create } = await publish(tenant)
  const headers = { origin: ORIGIN, 'idempotency-key': 'once' }
  const [first, again] = [await create(LEAD, headers), await create(LEAD, headers)]
  expect([again.json, again.headers['idempotency-replayed']]).toEqual([first.json, 'true'])
})
