import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { packageFolder } from './vectors.fixture'

let folder: string
let files: string[]

const run = (program: string, args: string[], cwd: string) => {
  const result = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (result.status !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${result.error ?? `${result.stdout}${result.stderr}`}`)
  return result.stdout
}

/** Installs the package as a customer's package manager would. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'leadwire-package-'))
  const packed = run(
    'npm',
    ['pack', '--json', '--ignore-scripts', '--loglevel=error', '--pack-destination', folder],
    packageFolder,
  )
  const [{ filename, files: listed }] = JSON.parse(packed)
  files = listed.map(({ path }: { path: string }) => path)
  const installed = join(folder, 'node_modules/@leadwire/webhook-receiver')
  mkdirSync(installed, { recursive: true })
  run('tar', ['-xzf', filename, '-C', installed, '--strip-components=1'], folder)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const program = (load: string) => `${load}
const vector = vectors.find(({ name }) => name.startsWith('a lead'))
const body = Buffer.from(vector.body_base64, 'base64')
const headers = { 'x-service-signature': vector.service_signature }
console.log(verify(body, headers, vector.secret).ok, verify(body, headers, 'other').code, typeof boundedStore)
`

it('can be imported by an ES module', () => {
  const load = `import { boundedStore, verify } from '@leadwire/webhook-receiver'
import { createRequire } from 'node:module'
const { vectors } = createRequire(import.meta.url)('@leadwire/webhook-receiver/vectors.json')`
  writeFileSync(join(folder, 'program.mjs'), program(load))
  expect(run(process.execPath, ['program.mjs'], folder)).toBe('true bad_signature function\n')
})

it('can be required by a CommonJS module', () => {
  const load = `const { boundedStore, verify } = require('@leadwire/webhook-receiver')
const { vectors } = require('@leadwire/webhook-receiver/vectors.json')`
  writeFileSync(join(folder, 'program.cjs'), program(load))
  expect(run(process.execPath, ['program.cjs'], folder)).toBe('true bad_signature function\n')
})

it('provides types to both, without those of Node', () => {
  const source = `import { boundedStore, verify, verifyStandard, type Lead, type Outcome, type RefusalCode, type WebhookEvent } from '@leadwire/webhook-receiver'
export const readLead = (body: Uint8Array, headers: Record<string, string>): Lead | RefusalCode => {
  const result = verifyStandard(body, headers, 'a-secret')
  return result.ok ? result.payload.data : result.code
}
export const keep = (id: string, work: () => Promise<void>): Promise<Outcome> => boundedStore().once(id, work)
export const readStatus = (body: Uint8Array, headers: Record<string, string>): string | undefined => {
  const result = verify<WebhookEvent>(body, headers, 'a-secret')
  if (!result.ok) return undefined
  if (result.payload.type === undefined) return result.payload.data.customer.email
  if (result.payload.type === 'lead.updated') return result.payload.data.status
  return result.payload.type === 'attachment.added' ? result.payload.data.lead_reference : undefined
}
export const own = verify<{ own: true }>('{}', [['a', 'b']], ['one', 'two'])
// @ts-expect-error a parsed body is not accepted
verify({ data: {} }, {}, 'a-secret')
`
  for (const extension of ['mts', 'cts']) writeFileSync(join(folder, `consumer.${extension}`), source)
  const tsc = join(dirname(createRequire(__filename).resolve('typescript/package.json')), 'bin/tsc')
  const options = '--noEmit --strict --module nodenext --target es2022 --lib es2022 --types'.split(' ')
  run(process.execPath, [tsc, ...options, '', 'consumer.mts', 'consumer.cts'], folder)
})

it('has no dependencies, and publishes neither specs nor fixtures', () => {
  const manifest = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'))
  expect(Object.keys(manifest)).toEqual(expect.not.arrayContaining(['dependencies', 'peerDependencies']))
  expect(files).toEqual(
    expect.arrayContaining([
      'LICENSE',
      'README.md',
      'dist/index.d.ts',
      'dist/index.js',
      'src/index.ts',
      'vectors.json',
    ]),
  )
  expect(files.filter((path) => /\.(spec|fixture)\.|tsbuildinfo|runners|\.(py|php)$/.test(path))).toEqual([])
  const license = (path: string) => readFileSync(join(packageFolder, path), 'utf8')
  expect(license('LICENSE')).toBe(license('../../LICENSE'))
})
