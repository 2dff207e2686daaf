import { randomUUID } from 'node:crypto'
import { eventually, tableContents } from '@leadwire/test-kit'
import type { Answer, Client, RequestOptions } from '../client'
import { fetchOpenApi, type OpenApi, type Route, routesOf } from '../openapi.fixture'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'
import { FORM, identifiersOf, newUser } from './identifiers.fixture'

// Everything here is drawn from the document: a new route is asked, too. Where nobody says what a parameter or a field of
// it stands for, the test fails until somebody does.

type Victim = { path: string; tenant: Tenant; identifiers: Record<string, string> }

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']
const NOWHERE: Record<string, string> = {
  reference: randomUUID(),
  id: '999999999',
  replay_id: '999999999',
}

let stage: Stage
let document: OpenApi
let routes: Route[]
let attacker: Tenant
beforeAll(async () => {
  // What an account is shown must not change by itself meanwhile.
  stage = await startStage({ env: { RECONCILE_INTERVAL: 'off' } })
  attacker = await stage.newTenant()
  document = await fetchOpenApi(attacker.client)
  // What needs no token belongs to nobody.
  routes = routesOf(document).filter(({ operation }) => operation.security?.length)
}, 60_000)
afterAll(() => stage.stop())

const namesIn = (path: string) => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
const filled = (path: string, values: Record<string, string>) =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole)

const exampleOf = ({ operation }: Route): RequestOptions => {
  const content = operation.requestBody?.content ?? {}
  if (content['multipart/form-data']) return { multipart: FORM }
  const media = content['application/json']
  return media ? { json: media.example } : {}
}

const resolved = (schema: Record<string, unknown>): Record<string, unknown> => {
  const reference = schema['$ref'] as string | undefined
  return reference ? document.components.schemas[reference.split('/').pop()!]! : schema
}

/** What an answer says, without what differs between any two of them. */
const saidBy = ({ status, text }: Answer, ...values: string[]) =>
  values.reduce(
    (said, value) => said.replaceAll(value, '…'),
    `${status} ${text.replace(/"(request_id|last_used_at)":("[^"]*"|null)/g, '')}`,
  )

/** Each combination in which at least one identifier is the victim's, and the others are the attacker's own. */
const foreignIn = (names: string[], theirs: Record<string, string>, own: Record<string, string>) =>
  Array.from({ length: 2 ** names.length - 1 }, (_, bits) =>
    Object.fromEntries(names.map((name, at) => [name, (((bits + 1) >> at) & 1 ? theirs : own)[name]!])),
  )

/** All that an account can read without further identifiers, and of the record itself. */
const viewOf = async ({ path, tenant, identifiers }: Victim) => {
  const readable = routes.filter(
    (route) =>
      route.method === 'GET' && (namesIn(route.path).every((n) => n === 'reference') || route.path === path),
  )
  const view: Record<string, string> = {}
  for (const route of readable) {
    const address = filled(route.path, identifiers)
    if (!address.includes('{')) view[address] = saidBy(await tenant.client.request('GET', address))
  }
  return view
}

const settled = async (client: Client) => {
  const list = async (path: string) =>
    (await client.request<{ data: Record<string, unknown>[] }>('GET', path)).json.data
  expect((await list('/manage/imports')).filter(({ finished_at }) => finished_at === null)).toEqual([])
  for (const path of ['/manage/deliveries', '/manage/notifications'])
    expect((await list(path)).filter(({ status }) => status !== 'delivered')).toEqual([])
}

const contents = async () => {
  const { leads, webhooks } = stage.system.databases
  // When a token was used last is written down now and then; the lists of tokens are compared. The search index follows the
  // leads, which are compared, as late as it likes.
  const unread = { tokens: 'false', lead_search: 'false', lead_search_progress: 'false' }
  return { leads: await tableContents(leads, unread), webhooks: await tableContents(webhooks) }
}

/** What both databases hold, once nothing is under way: no event is left, and a second look shows the same. */
const contentsAtRest = async () => {
  let last: Awaited<ReturnType<typeof contents>> | undefined
  return eventually(
    async () => {
      const [before, now] = [last, await contents()]
      last = now
      expect(now.leads['outbox']).toMatch(/^0 rows/)
      expect(now).toEqual(before)
      return now
    },
    { timeoutMs: 60_000, everyMs: 1500, describe: 'both databases to be at rest' },
  )
}

test('no route shows, changes or tells apart what is another account’s, in any method', async () => {
  // An external id is the account's own: another account may have the same.
  const paths = [...new Set(routes.map(({ path }) => path))].filter((path) => /\{(?!external_id)/.test(path))
  expect(paths.length).toBeGreaterThan(15)
  const victims: Victim[] = []
  for (const path of paths) {
    const tenant = await stage.newTenant()
    victims.push({ path, tenant, identifiers: await identifiersOf(path, tenant) })
  }
  const asked: { path: string; own: Record<string, string>; attacker: Tenant }[] = []
  for (const path of paths) {
    const tenant = await stage.newTenant()
    asked.push({ path, own: await identifiersOf(path, tenant), attacker: tenant })
  }
  await eventually(
    async () => {
      for (const { tenant } of victims) await settled(tenant.client)
      for (const one of asked) await settled(one.attacker.client)
    },
    { timeoutMs: 60_000 },
  )
  const before = await contentsAtRest()
  const views = await Promise.all(victims.map(viewOf))

  for (const [index, { path, identifiers }] of victims.entries()) {
    const { own, attacker: thief } = asked[index]!
    for (const method of METHODS) {
      const route = routes.find(
        (one) => one.path === path && one.method === (method === 'HEAD' ? 'GET' : method),
      )
      for (const stolen of foreignIn(namesIn(path), identifiers, own)) {
        const ask = (values: Record<string, string>) =>
          thief.client.request(method, filled(path, values), route ? exampleOf(route) : {})
        const answer = await ask(stolen)
        const absent = Object.fromEntries(
          Object.entries(stolen).map(([name, value]) => [name, value === own[name] ? value : NOWHERE[name]!]),
        )
        const seen = { method, path, stolen, status: answer.status }
        expect(seen).toEqual({ ...seen, status: route ? 404 : 405 })
        expect({ ...seen, said: saidBy(answer) }).toEqual({ ...seen, said: saidBy(await ask(absent)) })
      }
    }
  }

  for (const [index, victim] of victims.entries())
    expect({ path: victim.path, view: await viewOf(victim) }).toEqual({
      path: victim.path,
      view: views[index],
    })
  expect(await contents()).toEqual(before)
}, 300_000)

/** One account with one of each thing that a query or a body may name. */
const furnished = async () => {
  const tenant = await stage.newTenant()
  const user = await newUser(tenant)
  const image = await tenant.send('POST', '/manage/images', { multipart: FORM.slice(1) })
  const { id: endpoint } = await tenant.listen()
  const { reference } = await tenant.createLead({ user_id: user.id })
  const known: Record<string, string | number> = {
    user_id: user.id,
    user_email: user['email'] as string,
    image_id: image.id,
    endpoint_id: endpoint,
    lead_reference: reference,
    reference,
  }
  return { tenant, known }
}

const ABSENT: Record<string, string | number> = {
  user_id: 999_999_999,
  user_email: 'nobody@example.com',
  image_id: 999_999_999,
  endpoint_id: 999_999_999,
  lead_reference: randomUUID(),
  reference: randomUUID(),
}

// The customer's own numbers: no records of Leadwire's.
const NO_RECORDS = new Set(['product_style_id', 'external_id'])

const namesRecord = (name: string) =>
  /(^|_)(id|ids|reference)$|^user_email$/.test(name) && !NO_RECORDS.has(name)

const known = (values: Record<string, string | number>, name: string) => {
  if (values[name] === undefined) throw new Error(`nobody says what ${name} stands for`)
  return values[name]
}

test('no filter finds what is another account’s', async () => {
  const victim = await furnished()
  const filters = routes.flatMap((route) =>
    (route.operation.parameters ?? [])
      .filter((parameter) => parameter['in'] === 'query' && namesRecord(parameter['name'] as string))
      .map((parameter) => ({ route, name: parameter['name'] as string })),
  )
  expect(filters.length).toBeGreaterThan(2)
  for (const { route, name } of filters) {
    const ask = async (value: string | number) => {
      const address = `${filled(route.path, await identifiersOf(route.path, attacker))}?${name}=${value}`
      // A short number may also stand in the port of a link.
      const echo = typeof value === 'number' ? `=${value}` : value
      return saidBy(await attacker.client.request(route.method, address), echo)
    }
    const where = { method: route.method, path: route.path, name }
    const foreign = await ask(known(victim.known, name))
    expect({ ...where, foreign }).toEqual({ ...where, foreign: await ask(ABSENT[name]!) })
  }
})

type Schema = Record<string, unknown>

/** The fields of a schema that name a record, as paths; `0` stands for any place of a list. */
const recordsIn = (schema: Schema, at: string[] = []): string[][] => {
  const {
    properties = {},
    items,
    ...rest
  } = resolved(schema) as {
    properties?: Record<string, Schema>
    items?: Schema
  }
  const branches = ['anyOf', 'oneOf', 'allOf'].flatMap(
    (word) => (rest as Record<string, Schema[]>)[word] ?? [],
  )
  return [
    ...Object.entries(properties).flatMap(([name, child]) =>
      namesRecord(name) ? [[...at, name]] : recordsIn(child, [...at, name]),
    ),
    ...(items ? recordsIn(items, [...at, '0']) : []),
    ...branches.flatMap((branch) => recordsIn(branch, at)),
  ]
}

const withField = (value: unknown, [name, ...rest]: string[], field: unknown): unknown => {
  if (name === undefined) return field
  const inside = (value as Record<string, unknown> | undefined)?.[name]
  const child = withField(inside, rest, field)
  return name === '0' ? [child] : { ...(value as object), [name]: child }
}

const PRODUCT_STYLE = { sku: 'CAS-2', name: 'Casement', product: { name: 'Window' } }
const ITEM = { product_style_id: 1, product_style: PRODUCT_STYLE, name: 'Bay', price: 1 }

type Invalid = { errors?: Record<string, string[]> }

test('no body refers to what is another account’s', async () => {
  const victim = await furnished()
  const fields = routes.flatMap((route) => {
    const schema = route.operation.requestBody?.content['application/json']?.schema
    return schema ? recordsIn(schema).map((at) => ({ route, at })) : []
  })
  expect(fields.map(({ at }) => at.at(-1))).toEqual(
    expect.arrayContaining(['user_id', 'user_email', 'image_id']),
  )
  for (const { route, at } of fields) {
    const tenant = await stage.newTenant()
    const address = filled(route.path, await identifiersOf(route.path, tenant))
    const isBatch = route.path === '/manage/leads/batch'
    const ask = async (values: Record<string, string | number>) => {
      // The references of a row are checked when the row is valid.
      const row =
        isBatch && at.includes('items') ? withField(exampleOf(route).json, at.slice(0, -1), ITEM) : undefined
      const json = withField(row ?? exampleOf(route).json, at, known(values, at.at(-1)!))
      const { status, json: answer } = await tenant.client.request<Invalid & { data?: Invalid[] }>(
        route.method,
        address,
        { json },
      )
      // Each row of a batch has its own errors.
      const errors = isBatch
        ? answer.data?.[0]?.errors?.[at.slice(2).join('.')]
        : answer.errors?.[at.join('.')]
      return { route: `${route.method} ${route.path}`, at, status, errors }
    }
    const foreign = await ask(victim.known)
    expect(foreign).toEqual({ ...foreign, status: isBatch ? 200 : 422, errors: expect.any(Array) })
    expect(foreign).toEqual(await ask(ABSENT))
  }
})

test('no import refers to another account’s user', async () => {
  const victim = await furnished()
  const thief = await stage.newTenant()
  const { id } = await thief.send('POST', '/manage/imports', {
    body: JSON.stringify({ ...LEAD, user_id: victim.known['user_id'] }),
    headers: { 'content-type': 'application/x-ndjson' },
  })
  await eventually(async () => {
    const imported = await thief.send('GET', `/manage/imports/${id}`)
    expect(imported).toMatchObject({ finished_at: expect.any(String), rows_created: 0, rows_failed: 1 })
  })
  const { json } = await thief.client.request('GET', `/manage/imports/${id}/faults`)
  expect(json).toMatchObject({ data: [{ row: 1, errors: { user_id: expect.any(Array) } }] })
})
