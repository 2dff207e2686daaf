import type { RequestOptions } from '../../support/client'
import { fetchOpenApi, listRoutes, type Operation, type Route } from '../../support/openapi'
import { PNG } from '../../support/samples'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
beforeAll(async () => {
  stage = await joinStage()
})
afterAll(() => stage.stop())

const JSON_TYPE = 'application/json'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/**
 * The ids of records that the spec has created. They replace the ids in the paths and bodies of examples,
 * because the records that the examples name do not exist in a new account.
 */
type Ids = {
  reference: string
  userId: number
  endpointId: number
  entryId: Record<string, number>
  publishable: string
  /** The secret of a session. */
  session: string
}

const furnish = async ({ send, createLead, newUser, signIn }: Tenant): Promise<Ids> => {
  const { reference } = await createLead()
  const user = await send('POST', '/manage/users', { json: { email: 'u@example.com', name: 'U' } })
  const json = { url: 'https://a.example/' }
  const endpoint = await send('POST', '/manage/webhook-endpoints', { json })
  const entry = { json: { notify: false, user_id: user.id, date: '01/02/2027 10:00' } }
  const entryId: Record<string, number> = {}
  for (const kind of ['appointments', 'callbacks'])
    entryId[kind] = (await send('POST', `/leads/${reference}/${kind}`, entry)).id
  const note = { json: { text: 'Wants oak.' } }
  entryId['notes'] = (await send('POST', `/manage/leads/${reference}/notes`, note)).id
  const published = { name: 'Form', publishable: true, origins: ['https://www.example.com'] }
  const { token: publishable } = await send<{ token: string }>('POST', '/manage/tokens', { json: published })
  const [, session = ''] = (await signIn((await newUser('admin')).id)).split('=')
  return { reference, userId: user.id, endpointId: endpoint.id, entryId, publishable, session }
}

const listPairs = (example: Record<string, unknown>): [string, string][] =>
  Object.entries(example).flatMap(([name, value]) =>
    [value].flat().map((item): [string, string] => [name, String(item ?? '')]),
  )

const buildBodies = ({ requestBody }: Operation, { userId }: Ids): [string, RequestOptions][] => {
  const withUser = (example: Record<string, unknown>) =>
    'user_id' in example ? { ...example, user_id: userId } : example
  const content = Object.entries(requestBody?.content ?? {})
  return content.map(([type, { example }]) => {
    if (type === JSON_TYPE) return [type, { json: withUser(example!) }]
    if (type === FORM_TYPE) return [type, { form: `${new URLSearchParams(listPairs(withUser(example!)))}` }]
    if (!type.startsWith('multipart/')) return [type, { body: 'name\n', headers: { 'content-type': type } }]
    const file = { name: 'file', value: PNG, fileName: 'a.png' }
    const fields = requestBody?.content[JSON_TYPE]?.example ?? { name: 'Survey' }
    return [type, { multipart: [...listPairs(fields).map(([name, value]) => ({ name, value })), file] }]
  })
}

const fillPath = ({ path }: Route, { reference, endpointId, userId, entryId, publishable }: Ids) =>
  path
    .replace('{token}', publishable)
    .replace('{reference}', reference)
    .replace('{external_id}', 'crm-1')
    .replace('{name}', 'Open')
    .replace('users/{id}', `users/${userId}`)
    .replace(/(appointments|callbacks|notes)\/\{id\}/, (_, kind: string) => `${kind}/${entryId[kind]}`)
    .replace('{id}', String(endpointId))

test('every example of a body succeeds on a new account', async () => {
  const { client } = await stage.newTenant()
  const routes = listRoutes(await fetchOpenApi(client)).filter(({ operation }) => operation.requestBody)
  const seen: { status: number; operation: string; type: string; text: string }[] = []
  for (const route of routes) {
    const types = Object.keys(route.operation.requestBody!.content)
    for (const type of types) {
      // Each example gets a new account, so that it cannot depend on records of another example.
      const tenant = await stage.newTenant()
      const ids = await furnish(tenant)
      const body = buildBodies(route.operation, ids).find(([name]) => name === type)![1]
      // Only a user who has signed in has views.
      const options = route.path.startsWith('/manage/views') ? { ...body, token: ids.session } : body
      const { status, text } = await tenant.client.request(route.method, fillPath(route, ids), options)
      seen.push({ status, operation: route.operation.operationId, type, text })
    }
  }
  expect(seen.length).toBeGreaterThan(20)
  expect(seen.filter(({ status }) => status !== 200 && status !== 202)).toEqual([])
})

// The first "try it" on /docs sends this example.
test('Create Lead’s example succeeds repeatedly on an empty account', async () => {
  const { client } = await stage.newTenant()
  const route = listRoutes(await fetchOpenApi(client)).find(
    ({ operation }) => operation.operationId === 'createLead',
  )!
  expect(JSON.stringify(route.operation.parameters)).not.toContain('example')
  for (const json of [0, 1].map(() => route.operation.requestBody!.content[JSON_TYPE]!.example))
    expect(await client.request('POST', '/leads', { json })).toMatchObject({ status: 200 })
})
