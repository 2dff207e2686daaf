import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Furnished, fillPath, furnish, sortRoutes } from '../../support/furnish'
import { fetchOpenApi, listRoutes, type Route } from '../../support/openapi'
import { PNG } from '../../support/samples'
import { joinStage, LEAD, type SharedStage } from '../../support/stage'
import { type RecordingProxy, startRecordingProxy } from './recording-proxy.fixture'

const run = promisify(execFile)

let stage: SharedStage
let proxy: RecordingProxy
let folder: string
// Samples of updates use a separate account. For users, the example of an update has the same e-mail address
// as the example of a create, and two users of one account must not have the same address.
let forChanges: Furnished
let forOthers: Furnished
let routes: Route[]
beforeAll(async () => {
  stage = await joinStage()
  proxy = await startRecordingProxy(stage.system.baseUrl)
  folder = await mkdtemp(join(tmpdir(), 'leadwire-samples-'))
  await writeFile(join(folder, 'house.png'), PNG)
  await writeFile(join(folder, 'leads.csv'), `${Object.keys(LEAD)}\n${Object.values(LEAD)}\n`)
  forChanges = await furnish(await stage.newTenant())
  forOthers = await furnish(await stage.newTenant())
  routes = sortRoutes(listRoutes(await fetchOpenApi(forOthers.tenant.client)))
})
afterAll(async () => {
  await proxy?.stop()
  await stage?.stop()
  if (folder) await rm(folder, { recursive: true })
})

const runSample = async (route: Route, changes: Record<string, string> = {}) => {
  const { method, operation, path } = route
  const { tenant, identify, describe, records } = method === 'PATCH' ? forChanges : forOthers
  const identifiers = identify(path)
  // Replaces the user id 1 of the example body with the id of an existing user.
  const source = operation['x-codeSamples']![0]!.source.replace(/("user_id": )1\b/, `$1${records['user_id']}`)
  await writeFile(join(folder, 'sample.sh'), source)
  const variables = Object.entries(identifiers).map(([name, value]) => [name.toUpperCase(), value])
  const token = identifiers['token'] ?? (describe(route).token || tenant.token)
  const env = {
    ...process.env,
    TOKEN: token,
    BASE_URL: proxy.url,
    ...Object.fromEntries(variables),
    ...changes,
  }
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
  const seen = proxy.seen.map((each) => ({ ...each, path: each.path.split('?')[0] }))
  return { failure, output, seen, asked: fillPath(path, identifiers) }
}

test('each sample calls its operation and succeeds', async () => {
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

test('a sample that fails prints the problem', async () => {
  for (const id of ['createLead', 'retrieveLead', 'downloadAttachment']) {
    const route = routes.find(({ operation }) => operation.operationId === id)!
    const { output } = await runSample(route, { TOKEN: 'none' })
    expect([id, output]).toEqual([id, expect.stringContaining('request_id')])
  }
})
