import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { PNG } from '../files/samples.fixture'
import { fetchOpenApi, type Route, routesOf } from '../openapi.fixture'
import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'
import { CSV, identifiersOf, newUser } from './identifiers.fixture'
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.fixture'

const run = promisify(execFile)

let stage: SharedStage
let proxy: RecordingProxy
let folder: string
let routes: Route[]
beforeAll(async () => {
  stage = await joinStage()
  proxy = await startRecordingProxy(stage.system.baseUrl)
  folder = await mkdtemp(join(tmpdir(), 'leadwire-samples-'))
  await writeFile(join(folder, 'house.png'), PNG)
  await writeFile(join(folder, 'leads.csv'), CSV)
  routes = routesOf(await fetchOpenApi((await stage.newTenant()).client))
})
afterAll(async () => {
  await proxy?.stop()
  await stage?.stop()
  if (folder) await rm(folder, { recursive: true })
})

const tokenFor = async (path: string, { token, listen, send }: Tenant) => {
  if (path !== '/portal-sessions') return token
  const link = await send<{ url: string }>('POST', `/manage/webhook-endpoints/${(await listen()).id}/portal`)
  return link.url.split('#portal=')[1]!
}

/** The variables that a sample reads, on an account of its own. */
const furnish = async (
  path: string,
): Promise<{ tenant: Tenant; variables: Record<string, string>; token: string }> => {
  const tenant = await stage.newTenant()
  const identifiers = await identifiersOf(path, tenant)
  if (path.endsWith('/erasure')) await tenant.send('POST', `/manage/leads/${identifiers['reference']}/erase`)
  const variables = Object.entries(identifiers).map(([name, value]) => [name.toUpperCase(), value])
  const token = identifiers['token'] ?? (await tokenFor(path, tenant))
  return { tenant, variables: Object.fromEntries(variables), token }
}

/** The example of a body names the user 1. A new account has no user at all. */
const withUser = async (source: string, tenant: Tenant) =>
  /user_id/.test(source) ? source.replace(/("user_id": )1\b/, `$1${(await newUser(tenant)).id}`) : source

const runSample = async ({ path, operation }: Route, changes: Record<string, string> = {}) => {
  const { source } = operation['x-codeSamples']![0]!
  const { tenant, variables, token } = await furnish(path)
  await writeFile(join(folder, 'sample.sh'), await withUser(source, tenant))
  const env = { ...process.env, ...variables, BASE_URL: proxy.url, TOKEN: token, ...changes }
  proxy.seen.length = 0
  const { code, stdout, stderr } = await run('bash', ['-eu', 'sample.sh'], {
    cwd: folder,
    env,
    timeout: 20_000,
  }).then(
    (output) => ({ ...output, code: 0 }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  )
  const output = `${stdout}${stderr}`
  const failure = code === 0 ? undefined : output
  const fill = (name: string) => variables[name.toUpperCase()]!
  const seen = proxy.seen.map((each) => ({ ...each, path: each.path.split('?')[0] }))
  return { failure, output, seen, asked: path.replace(/\{(\w+)\}/g, (_, name) => fill(name)) }
}

test('each sample calls its operation, and succeeds', async () => {
  expect(routes.length).toBeGreaterThan(40)
  for (const route of routes) {
    const { method, operation } = route
    const success = Object.keys(operation.responses).find((status) => status.startsWith('2'))
    const { failure, seen, asked } = await runSample(route)
    const { operationId } = operation
    expect({ operationId, failure, seen }).toEqual({
      operationId,
      failure: undefined,
      seen: [{ method, path: asked, status: Number(success) }],
    })
  }
}, 300_000)

test('a sample that is refused shows why', async () => {
  for (const id of ['createLead', 'retrieveLead', 'downloadAttachment']) {
    const route = routes.find(({ operation }) => operation.operationId === id)!
    const { output } = await runSample(route, { TOKEN: 'none' })
    expect([id, output]).toEqual([id, expect.stringContaining('request_id')])
  }
})
