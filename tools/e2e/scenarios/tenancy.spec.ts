import { randomUUID } from 'node:crypto'
import { eventually, type Receiver } from '@leadwire/test-kit'
import type { Answer, RequestOptions } from '../support/client'
import { type Furnished, fillPath, furnish, listParameters } from '../support/furnish'
import { fetchOpenApi, listRoutes, type OpenApi, type Route } from '../support/openapi'
import { joinStage, LEAD, type SharedStage } from '../support/stage'

// Reads all routes, parameters and fields from the OpenAPI document, so that a new route is tested, too. If a
// new parameter or field names a record, these tests fail until support/furnish.ts has an identifier for it.

type Identifiers = Record<string, string>

/** Identifiers of records that do not exist. */
const NOWHERE: Identifiers = { reference: randomUUID(), id: '999999999', replay_id: '999999999' }
const ABSENT: Record<string, string | number> = {
  user_id: 999_999_999,
  user_email: 'nobody@example.com',
  image_id: 999_999_999,
  endpoint_id: 999_999_999,
  lead_reference: NOWHERE['reference']!,
  reference: NOWHERE['reference']!,
}

/**
 * Operations whose responses are not compared. The victim has erased no lead, so retrieveErasure has nothing
 * to return. The other responses change over time.
 */
const NOT_COMPARED = new Set(['retrieveReconciliation', 'listWebhookEndpointHealth', 'retrieveErasure'])

let stage: SharedStage
let document: OpenApi
let routes: Route[]
let victim: Furnished
let attacker: Furnished
let receiver: Receiver
beforeAll(async () => {
  stage = await joinStage()
  const [theirs, own] = [await stage.newTenant(), await stage.newTenant()]
  ;[victim, attacker] = await Promise.all([furnish(theirs), furnish(own)])
  receiver = (await own.listen()).receiver
  document = await fetchOpenApi(own.client)
  // Skips routes that need no token, because they belong to no account.
  routes = listRoutes(document).filter(({ operation }) => operation.security?.length)
})
afterAll(() => stage.stop())

const ask = (route: Route, address: string, options: RequestOptions) =>
  attacker.tenant.client.request(route.method, address, options)

/** Returns the status and the text of a response, without values that differ between any two requests. */
const summarise = ({ status, text }: Answer, ...values: string[]) =>
  values.reduce(
    (summary, value) => summary.replaceAll(value, '…'),
    `${status} ${text.replace(/"(request_id|last_used_at)":("[^"]*"|null)/g, '')}`,
  )

/**
 * Lists each combination in which at least one identifier is the victim's and the others are the attacker's.
 */
const listStolen = (names: string[], theirs: Identifiers, own: Identifiers) =>
  Array.from({ length: 2 ** names.length - 1 }, (_, bits) =>
    Object.fromEntries(names.map((name, index) => [name, (((bits + 1) >> index) & 1 ? theirs : own)[name]!])),
  )

const read = ({ tenant, identify, describe }: Furnished, route: Route) => {
  const { path, operation } = route
  // Both accounts have a lead with this e-mail address, so the export of each account finds a lead.
  const query = operation.operationId === 'exportPerson' ? `?email=${LEAD.email}` : ''
  return tenant.client.request<{ data?: unknown }>(
    'GET',
    fillPath(path, identify(path)) + query,
    describe(route),
  )
}

/** Removes exports from an audit log, because this spec itself exports records of the victim. */
const withoutExports = (view: string): string =>
  view.replace(
    /\{"id":"[^{}]*"action":"\w+\.exported","target":\{[^{}]*\},"actor":(?:null|\{[^{}]*\}),"token":(null|\{[^{}]*\}),[^{}]*"changes":\{\}\},?/g,
    '',
  )

/** Reads everything that the victim can read. */
const readVictim = async () => {
  const views: Record<string, string> = {}
  for (const route of routes) {
    const { operationId } = route.operation
    if (route.method === 'GET' && !NOT_COMPARED.has(operationId))
      views[operationId] = withoutExports(summarise(await read(victim, route)))
  }
  return views
}

test('each account lists only its own records', async () => {
  const lists = routes.filter(({ method, path }) => method === 'GET' && !path.includes('{'))
  expect(lists.length).toBeGreaterThanOrEqual(17)
  for (const route of lists) {
    const { operationId } = route.operation
    const [theirs, own] = [await read(victim, route), await read(attacker, route)]
    expect([operationId, theirs.status, own.status]).toEqual([operationId, 200, 200])
    for (const secret of [victim.records['reference'], victim.records['user_email']])
      expect([operationId, own.text.includes(String(secret))]).toEqual([operationId, false])
    // An appointment may have the same id as a callback of another account.
    const nameRecord = ({ kind = '', id, endpoint_id: endpointId }: Record<string, unknown>) =>
      id === undefined && endpointId === undefined ? [] : [`${kind} ${id ?? endpointId}`]
    const listIds = ({ data }: { data?: unknown } = {}) =>
      Array.isArray(data) ? data.flatMap(nameRecord) : []
    const shared = listIds(own.json).filter((id) => listIds(theirs.json).includes(id))
    expect({ operationId, shared }).toEqual({ operationId, shared: [] })
  }
})

test('no route shows, changes or distinguishes a record of another account', async () => {
  const before = await readVictim()
  expect(Object.keys(before).length).toBeGreaterThanOrEqual(32)
  // Skips external ids and the names of views, because each account chooses its own. Two accounts may use the
  // same ones.
  const targets = routes.filter(({ path }) => /\{(?!external_id|name)/.test(path))
  expect(targets.length).toBeGreaterThanOrEqual(40)
  for (const route of targets) {
    const { method, path } = route
    const own = attacker.identify(path)
    for (const stolen of listStolen(listParameters(path), victim.identify(path), own)) {
      const absent = Object.fromEntries(
        Object.entries(stolen).map(([name, value]) => [name, value === own[name] ? value : NOWHERE[name]!]),
      )
      const [foreign, missing] = [
        await ask(route, fillPath(path, stolen), attacker.describe(route)),
        await ask(route, fillPath(path, absent), attacker.describe(route)),
      ]
      expect({ method, path, stolen, status: foreign.status }).toEqual({ method, path, stolen, status: 404 })
      const text = summarise(missing)
      expect({ method, path, stolen, text: summarise(foreign) }).toEqual({ method, path, stolen, text })
    }
  }
  expect(await readVictim()).toEqual(before)
})

/** Identifiers from the customer's own systems. They refer to no record. */
const NO_RECORDS = new Set(['product_style_id', 'external_id'])

const namesRecord = (name: string) =>
  /(^|_)(id|ids|reference)$|^user_email$/.test(name) && !NO_RECORDS.has(name)

const findRecord = ({ records }: Furnished, name: string) => {
  const record = records[name]
  if (record === undefined) throw new Error(`furnish.ts has no identifier for ${name}`)
  return record
}

test('no filter finds a record of another account', async () => {
  const filters = routes.flatMap((route) =>
    (route.operation.parameters ?? [])
      .filter((parameter) => parameter['in'] === 'query' && namesRecord(parameter['name'] as string))
      .map((parameter) => ({ route, name: parameter['name'] as string })),
  )
  expect(filters.length).toBeGreaterThanOrEqual(3)
  for (const { route, name } of filters) {
    const find = async (value: string | number) => {
      const query = `${name}=${value}`
      const address = `${fillPath(route.path, attacker.identify(route.path))}?${query}`
      // Removes the query from the response, because the links of a page repeat the query.
      return summarise(await ask(route, address, {}), query)
    }
    const { method, path } = route
    const found = await find(findRecord(victim, name))
    expect({ method, path, name, found }).toEqual({ method, path, name, found: await find(ABSENT[name]!) })
  }
})

type Schema = Record<string, unknown>

const resolveSchema = (schema: Schema): Schema => {
  const reference = schema['$ref'] as string | undefined
  return reference ? document.components.schemas[reference.split('/').pop()!]! : schema
}

/** Lists the paths of the fields that name a record. `0` stands for any index of a list. */
const listRecordFields = (schema: Schema, at: string[] = []): string[][] => {
  const { properties = {}, items, ...rest } = resolveSchema(schema)
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (rest[word] as Schema[] | undefined) ?? [])
  return [
    ...Object.entries(properties as Record<string, Schema>).flatMap(([name, child]) =>
      namesRecord(name) ? [[...at, name]] : listRecordFields(child, [...at, name]),
    ),
    ...(items ? listRecordFields(items as Schema, [...at, '0']) : []),
    ...branches.flatMap((branch) => listRecordFields(branch, at)),
  ]
}

/** Copies a body with one field changed. */
const changeField = (value: unknown, [name, ...rest]: string[], field: unknown): unknown => {
  if (name === undefined) return field
  const child = changeField((value as Schema | undefined)?.[name], rest, field)
  return name === '0' ? [child] : { ...(value as Schema), [name]: child }
}

test('no body and no import refers to a record of another account, and no receiver gets its leads', async () => {
  type Invalid = { errors?: Record<string, string[]> }
  const fields = routes.flatMap((route) => {
    // A saved view refers to no user, because it only stores filters.
    if (route.operation.operationId === 'saveView') return []
    const schema = route.operation.requestBody?.content['application/json']?.schema
    return schema ? listRecordFields(schema).map((at) => ({ route, at })) : []
  })
  expect(fields.map(({ at }) => at.at(-1))).toEqual(
    expect.arrayContaining(['user_id', 'user_email', 'image_id', 'endpoint_id', 'reference']),
  )
  for (const { route, at } of fields) {
    const { operationId } = route.operation
    const isBatch = operationId === 'createLeadBatch'
    const refer = async (value: string | number) => {
      const json = changeField(attacker.describe(route).json, at, value)
      const answer = await ask(route, fillPath(route.path, attacker.identify(route.path)), { json })
      // Each row of a batch has its own errors.
      const invalid = (isBatch ? (answer.json as { data: Invalid[] }).data[0] : answer.json) as Invalid
      const name = isBatch ? at.slice(2).join('.') : at.join('.')
      return { operationId, at, status: answer.status, errors: invalid.errors?.[name] }
    }
    const foreign = await refer(findRecord(victim, at.at(-1)!))
    const status = isBatch ? 200 : 422
    expect(foreign).toEqual({ operationId, at, status, errors: expect.any(Array) })
    expect(foreign).toEqual(await refer(ABSENT[at.at(-1)!]!))
  }

  const { send, client } = attacker.tenant
  const { id } = await send('POST', '/manage/imports', {
    body: JSON.stringify({ ...LEAD, user_id: victim.records['user_id'] }),
    headers: { 'content-type': 'application/x-ndjson' },
  })
  await eventually(async () =>
    expect(await send('GET', `/manage/imports/${id}`)).toMatchObject({ rows_created: 0, rows_failed: 1 }),
  )
  expect((await client.request('GET', `/manage/imports/${id}/errors`)).json).toMatchObject({
    data: [{ row: 1, errors: { user_id: expect.any(Array) } }],
  })

  await victim.tenant.createLead()
  const { reference } = await attacker.tenant.createLead()
  await eventually(() => expect(receiver.requests.some(({ body }) => body.includes(reference))).toBe(true))
  const accounts = receiver.requests.map(({ headers }) => headers['x-service-account-key'])
  expect([...new Set(accounts)]).toEqual([attacker.tenant.account.api_key])
})
