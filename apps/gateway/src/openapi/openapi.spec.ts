import { gunzipSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020'
import { type RunningGateway, startGateway } from '../gateway.fixture'

type Schema = { [key: string]: unknown; examples?: unknown[]; example?: unknown }
interface Response {
  description: string
  headers?: object
  content?: Record<string, { schema: Schema }>
}
interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security?: Record<string, string[]>[]
  parameters?: { name: string }[]
  responses: Record<string, Response | { $ref: string }>
  requestBody?: { content: Record<string, { schema: Schema }> }
  'x-codeSamples'?: { label: string; source: string }[]
}

let gateway: RunningGateway
let document: {
  openapi: string
  info: { license: object }
  paths: Record<string, Record<string, Operation>>
  servers: { url: string }[]
  webhooks: object
  components: {
    schemas: Record<string, Schema>
    responses: Record<string, Response>
    pathItems: Record<string, { post: Operation }>
  }
}
beforeAll(async () => {
  gateway = await startGateway()
  document = (await gateway.app.inject({ url: '/openapi.json' })).json()
})
afterAll(() => gateway.stop())

const responseOf = ({ responses }: Operation, status: string) => {
  const response = responses[status]
  return response && '$ref' in response
    ? document.components.responses[response.$ref.split('/').pop()!]
    : response
}

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  )

test('every operation is described', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(
    operations()
      .map(({ name }) => name)
      .sort(),
  ).toEqual(
    [
      'GET /leads',
      'POST /leads',
      'GET /leads/statuses',
      'GET /leads/{reference}',
      'PATCH /leads/{reference}',
      'POST /leads/{reference}/appointments',
      'POST /leads/{reference}/callbacks',
      'GET /leads/{reference}/appointments',
      'PATCH /leads/{reference}/appointments/{id}',
      'DELETE /leads/{reference}/appointments/{id}',
      'PATCH /leads/{reference}/callbacks/{id}',
      'DELETE /leads/{reference}/callbacks/{id}',
      'GET /calendars/{secret}.ics',
      'GET /leads/{reference}/callbacks',
      'GET /leads/{reference}/attachments',
      'POST /leads/{reference}/attachments',
      'GET /leads/{reference}/attachments/{id}',
      'POST /manage/leads',
      'POST /manage/leads/batch',
      'PUT /manage/leads/external/{external_id}',
      'GET /manage/leads/{reference}',
      'GET /manage/leads/{reference}/duplicates',
      'POST /manage/leads/{reference}/duplicate-of',
      'GET /manage/leads/{reference}/history',
      'POST /manage/leads/{reference}/erase',
      'GET /manage/leads/{reference}/erasure',
      'GET /manage/leads/{reference}/export',
      'GET /manage/persons/export',
      'POST /manage/images',
      'GET /manage/account',
      'PATCH /manage/account',
      'GET /manage/users',
      'POST /manage/users',
      'GET /manage/users/{id}',
      'PATCH /manage/users/{id}',
      'DELETE /manage/users/{id}',
      'POST /manage/users/{id}/calendar',
      'DELETE /manage/users/{id}/calendar',
      'GET /manage/reconciliation',
      'GET /manage/tokens',
      'POST /manage/tokens',
      'DELETE /manage/tokens/{id}',
      'GET /token',
      'GET /manage/webhook-endpoints',
      'POST /manage/webhook-endpoints',
      'GET /manage/webhook-endpoints/{id}',
      'PATCH /manage/webhook-endpoints/{id}',
      'DELETE /manage/webhook-endpoints/{id}',
      'POST /manage/webhook-endpoints/{id}/rotate-secret',
      'POST /manage/webhook-endpoints/{id}/test',
      'POST /manage/webhook-endpoints/{id}/recover',
      'POST /manage/webhook-endpoints/{id}/replay',
      'GET /manage/webhook-endpoints/{id}/replay/{replay_id}',
      'DELETE /manage/webhook-endpoints/{id}/replay/{replay_id}',
      'POST /manage/webhook-endpoints/{id}/portal',
      'POST /portal-sessions',
      'POST /capture/{token}',
      'GET /capture/{token}/stamp',
      'GET /manage/webhook-endpoint-health',
      'GET /manage/webhook-sources',
      'POST /manage/deliveries/{id}/retry',
      'GET /manage/deliveries',
      'GET /manage/deliveries/{id}',
      'GET /manage/events',
      'GET /manage/notifications',
      'GET /manage/notifications/{id}',
      'POST /manage/notifications/{id}/retry',
      'GET /manage/audit',
      'GET /manage/exports',
      'GET /manage/imports',
      'POST /manage/imports',
      'GET /manage/imports/{id}',
      'POST /manage/imports/{id}/cancel',
      'GET /manage/imports/{id}/faults',
      'GET /manage/imports/{id}/events',
      'GET /assets/images/{file}',
      'GET /healthz',
      'GET /readyz',
    ].sort(),
  )
})

test('every operation has a summary, a tag and its problems; all but public ones need a token', () => {
  for (const { name, operation } of operations()) {
    expect([name, operation.summary, operation.tags]).toEqual([
      name,
      expect.any(String),
      [expect.any(String)],
    ])
    const isPublic = /\/(assets|calendars|capture|healthz|readyz)/.test(name)
    const isBearer = operation.security!.map(({ bearer }) => bearer!.length === 1)
    expect([name, [...new Set(isBearer)]]).toEqual([name, isPublic ? [] : [true]])
    if (/healthz|readyz/.test(name)) continue
    const statuses = Object.keys(operation.responses)
    expect(statuses).toEqual(
      expect.arrayContaining([
        /^POST .*\/(erase|imports)$/.test(name) ? '202' : '200',
        '500',
        '503',
        '504',
        ...(isPublic ? [] : ['401', '403', '429']),
      ]),
    )
    for (const status of statuses.filter((code) => !['200', '202', '303', '304'].includes(code))) {
      expect(responseOf(operation, status)!.content).toHaveProperty(['application/problem+json'])
    }
  }
})

test('what has an ETag says so, with the condition that it is for', () => {
  const documented = operations()
    .map(({ operation }) => operation)
    .filter((operation) => 'ETag' in (responseOf(operation, '200')?.headers ?? {}))
    .map(({ operationId, responses, parameters = [] }) => [
      operationId,
      Object.keys(responses).filter((status) => ['304', '412'].includes(status)),
      parameters.filter(({ name }) => name.startsWith('If-')).map(({ name }) => name),
    ])
  expect(documented.sort()).toEqual([
    ['createLead', [], []],
    ['createVisitorLead', [], []],
    ['listLeads', ['304'], ['If-None-Match']],
    ['markLeadDuplicate', [], []],
    ['readCalendar', ['304'], ['If-None-Match']],
    ['retrieveLead', ['304'], ['If-None-Match']],
    ['retrieveManagedLead', ['304'], ['If-None-Match']],
    ['serveAsset', ['304'], ['If-None-Match']],
    ['updateLead', ['412'], ['If-Match']],
    ['upsertLead', ['412'], ['If-Match']],
  ])
})

test('clients can be made from it: names of operations, an identifier of the licence, files that are binary', () => {
  const names = operations().map(({ operation }) => operation.operationId)
  expect(names).toEqual(names.map(() => expect.stringMatching(/^[a-z]+([A-Z][a-z]+)+$/)))
  expect(new Set(names).size).toBe(names.length)
  expect(names).toEqual(expect.arrayContaining(['createLead', 'scheduleAppointment', 'attachFile']))
  expect(document.info.license).toEqual({ name: 'MIT', identifier: 'MIT' })
  const text = JSON.stringify(document)
  expect(text).not.toContain('contentMediaType')
  // Two forms with a file, downloads of eight, of four and of one type, a page.
  expect(text.match(/"format":"binary"/g)).toHaveLength(21)
})

test('every reference leads somewhere', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
  expect(references.length).toBeGreaterThan(50)
  for (const reference of new Set(references)) {
    expect(document).toHaveProperty(reference.replace('#/', '').split('/'))
  }
})

test('it says where the API is: at the configured address, else where it was asked', async () => {
  expect(document.servers).toEqual([{ url: 'https://api.example.test' }])
  const other = await startGateway({}, { config: { PUBLIC_URL: undefined } })
  const { body } = await other.app.inject({ url: '/openapi.json', headers: { host: 'leads.test:81' } })
  expect(JSON.parse(body).servers).toEqual([{ url: 'http://leads.test:81' }])
  await other.stop()
})

test('each kind of event is described, and its body says which it is', () => {
  const { 'lead.created': _, ...changes } = document.webhooks as Record<string, { $ref: string }>
  expect(Object.keys(changes)).toEqual([
    ...['lead.updated', 'appointment.scheduled', 'callback.scheduled', 'attachment.added'],
    'lead.erased',
    ...['appointment.rescheduled', 'appointment.cancelled', 'callback.rescheduled', 'callback.cancelled'],
    'lead.duplicate_suspected',
    ...['endpoint.failing', 'endpoint.disabled', 'endpoint.recovered', 'delivery.exhausted'],
  ])
  for (const [kind, { $ref }] of Object.entries(changes)) {
    const name = $ref.replace('#/components/pathItems/', '')
    const { post } = document.components.pathItems[name]!
    expect(post.requestBody!.content['application/json']!.schema).toEqual({
      $ref: `#/components/schemas/${name}`,
    })
    expect(document.components.schemas[name]!['properties']).toMatchObject({ type: { enum: [kind] } })
  }
})

test('Lead Created is described, and its items have no product_style', () => {
  expect(document.webhooks).toMatchObject({ 'lead.created': { $ref: '#/components/pathItems/LeadCreated' } })
  const { post } = document.components.pathItems['LeadCreated']!
  expect(post.requestBody!.content['application/json']!.schema).toEqual({
    $ref: '#/components/schemas/LeadCreated',
  })
  const { LeadCreatedQuoteItem: sent, QuoteItem: answered } = document.components.schemas
  expect(answered!['properties']).toHaveProperty('product_style')
  expect(sent!['properties']).not.toHaveProperty('product_style')
  expect(sent!['required']).not.toContain('product_style')
})

test('each response has its headers', () => {
  const headersOf = (path: string, method: string, status: string) =>
    Object.keys(responseOf(document.paths[path]![method]!, status)!.headers!)
  expect(headersOf('/leads', 'post', '200')).toEqual([
    'X-Request-Id',
    'Token-Expires-At',
    'Idempotency-Replayed',
    'ETag',
    ...['RateLimit-Policy', 'RateLimit'],
  ])
  expect(headersOf('/leads', 'get', '401')).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  expect(headersOf('/leads', 'get', '503')).toEqual(['X-Request-Id', 'Retry-After'])
  expect(headersOf('/leads', 'get', '429')).toEqual([
    ...['X-Request-Id', 'Retry-After', 'RateLimit-Policy', 'RateLimit'],
  ])
  expect(headersOf('/leads', 'post', '409')).toEqual(['X-Request-Id', 'Retry-After'])
  expect(headersOf('/leads/{reference}', 'patch', '405')).toEqual(['X-Request-Id', 'Allow'])
})

test('formats are those that JSON Schema knows; others are patterns', () => {
  const formats = [...JSON.stringify(document).matchAll(/"format":"([^"]+)"/g)].map(([, format]) => format)
  expect([...new Set(formats)].sort()).toEqual(
    ['binary', 'date-time', 'email', 'ipv4', 'ipv6', 'uri', 'uuid'].sort(),
  )
  const { properties } = document.components.schemas['CreateLeadRequest'] as {
    properties: Record<string, { pattern?: string; minLength?: number }>
  }
  const postcode = new RegExp(properties['postcode']!.pattern!)
  expect(['SW1A 1AA', 'sw1a1aa', 'GIR 0AA', 'M1 1AE'].every((text) => postcode.test(text))).toBe(true)
  expect(['SW1A', 'SW1A 1A', '12345'].some((text) => postcode.test(text))).toBe(false)
  expect(properties['name']!.minLength).toBe(1)
  expect(properties['mobile']).not.toHaveProperty('minLength')
})

const withExamples = (node: unknown, found: Schema[] = []): Schema[] => {
  if (typeof node !== 'object' || node === null) return found
  const schema = node as Schema
  if (Array.isArray(schema.examples)) found.push(schema)
  for (const member of Object.values(schema)) withExamples(member, found)
  return found
}

test('every example is valid by its own schema', () => {
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  ajv.addSchema({ $id: 'doc', ...document })
  const schemas = withExamples(document)
  expect(schemas.length).toBeGreaterThan(100)
  for (const schema of schemas) {
    const { examples = [], ...rest } = JSON.parse(
      JSON.stringify(schema).replaceAll('"#/', '"doc#/'),
    ) as Schema
    const validate = ajv.compile(rest)
    for (const example of examples) expect([example, validate(example)]).toEqual([example, true])
  }
})

test('it is compressed for a client that accepts that', async () => {
  const plain = await gateway.app.inject({ url: '/openapi.json' })
  const gzipped = await gateway.app.inject({ url: '/openapi.json', headers: { 'accept-encoding': 'gzip' } })
  expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(gunzipSync(gzipped.rawPayload).toString()).toBe(plain.body)
})

test('each operation has a sample, which sends the example of its body', () => {
  for (const { name, operation } of operations()) {
    expect([name, operation['x-codeSamples']]).toEqual([name, [expect.objectContaining({ label: 'curl' })]])
  }
  const [curl] = document.paths['/leads/{reference}']!['patch']!['x-codeSamples']!
  expect(curl!.source).toBe(`curl -sS --fail-with-body -X PATCH "$BASE_URL/leads/$REFERENCE" \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{
    "value": 4500,
    "status": "sold",
    "notify": true
  }'`)
})
