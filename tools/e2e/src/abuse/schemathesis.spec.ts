import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Stage, startStage, type Tenant } from '../stage.fixture'
import { findSchemathesis } from './schemathesis.fixture'

// A longer look: `SCHEMATHESIS_SECONDS=1500 SCHEMATHESIS_SEED=7 npm run specs -- tools/e2e/src/abuse/schemathesis`.
const SECONDS = Number(process.env['SCHEMATHESIS_SECONDS'] ?? 30)
/** For each operation: so many that the time is spent, and each operation has its turn. */
const EXAMPLES = Math.max(100, Math.round(SECONDS * 1.5))
const SEED = process.env['SCHEMATHESIS_SEED'] ?? '20261124'

const CHECKS = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
  'unsupported_method',
]

const found = findSchemathesis()
jest.setTimeout((SECONDS + 120) * 1000)

let stage: Stage
let tenant: Tenant
let folder: string
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
  folder = await mkdtemp(join(tmpdir(), 'leadwire-schemathesis-'))
}, 60_000)
afterAll(async () => {
  await stage?.stop()
  if (folder) await rm(folder, { recursive: true })
})

/** Sends requests made from the document with a token, valid and not. Answers with how many, and what was found: nothing when all is well. */
const explore = (binary: string, token: string, share: number, ...only: string[]) =>
  new Promise<{ requests: number; found: string }>((resolve) => {
    const args = [
      ...['run', `${stage.system.baseUrl}/openapi.json`, '--header', `Authorization: Bearer ${token}`],
      ...['--checks', CHECKS.join(','), '--phases', 'examples,coverage,fuzzing', '--seed', SEED],
      ...['--max-time', String(Math.max(5, Math.round(SECONDS * share))), '--request-timeout', '15'],
      ...[
        '--max-examples',
        String(EXAMPLES),
        '--continue-on-failure',
        '--no-color',
        '--generation-database',
        'none',
        ...only,
      ],
    ]
    execFile(binary, args, { cwd: folder, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      resolve({
        requests: Number(/(\d+) generated/.exec(stdout)?.[1]),
        found: error ? `${stdout}${stderr}` : '',
      }),
    )
  })

// Ids are small numbers: sooner or later it would revoke the token that it uses.
const REVOKE = 'revokeToken'

if ('reason' in found) {
  test.skip(`every answer is as the document says (skipped: ${found.reason})`, () => undefined)
} else {
  test.each([
    ['manage', ['leads', 'manage'], 0.6, ['--exclude-operation-id', REVOKE]],
    ['leads', ['leads'], 0.25, ['--exclude-operation-id', REVOKE]],
    ['a token that may revoke itself', ['leads', 'manage'], 0.15, ['--include-operation-id', REVOKE]],
  ])('every answer is as the document says, whatever is asked with %s', async (name, scopes, share, only) => {
    const { token } = await tenant.newToken({ scopes })
    const explored = await explore(found.binary, token, share, ...only)
    console.info(`${explored.requests} requests with ${name}, seed ${SEED}`)
    expect(explored).toEqual({ requests: expect.any(Number), found: '' })
    expect(explored.requests).toBeGreaterThan(0)
    const errors = stage.system.logs().filter(({ level }) => level === 'error' || level === 'fatal')
    expect(errors).toEqual([])
    if (!only.includes('--include-operation-id'))
      expect((await tenant.client.request('GET', '/leads', { token })).status).toBe(200)
  })
}
