import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  ConfigError,
  databaseUrl,
  httpUrls,
  natsCaFile,
  natsUrl,
  readConfig,
  tlsSettings,
} from '@leadwire/settings'
import { createAuthority, eventually, writeAuthorities, writeCertificate } from '@leadwire/test-kit'
import { createLifecycle } from '../process/lifecycle'
import { createLogger } from '../process/logger'
import { watchTls } from './tls'

const DAY_MS = 24 * 3_600_000

let folder: string
let files: { certFile: string; keyFile: string; caFile: string }
let env: Record<string, string>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leadwire-pem-'))
  const authority = await createAuthority()
  const caFile = await writeAuthorities(folder, [authority])
  files = { ...(await writeCertificate(folder, await authority.issue('spec'))), caFile }
  env = { TLS_CERT_FILE: files.certFile, TLS_KEY_FILE: files.keyFile, TLS_CA_FILE: files.caFile }
})
afterAll(() => rm(folder, { recursive: true }))
afterEach(() => jest.restoreAllMocks())

const buildSpecs = (given: Record<string, string>) => ({
  ...tlsSettings(given),
  FILES_SERVICE_URL: httpUrls(given),
  NATS_URL: natsUrl({ ...given, SERVICE_AUTH: 'none' }),
  NATS_CA_FILE: natsCaFile(given),
  DATABASE_URL: databaseUrl(),
})

const others = (change: Record<string, string> = {}) => ({
  FILES_SERVICE_URL: 'http://files:4000',
  NATS_URL: 'nats://nats',
  DATABASE_URL: 'postgresql://db/leads',
  ...change,
})

const listErrors = (given: Record<string, string>): Record<string, string> => {
  try {
    readConfig(given, buildSpecs(given))
  } catch (error) {
    if (error instanceof ConfigError) return error.errors
    throw error
  }
  return {}
}

const inFile = async (content: string): Promise<string> => {
  const path = join(folder, 'other.pem')
  await writeFile(path, content)
  return path
}

test('without the files there is no TLS, and with all of them there is', () => {
  expect(listErrors(others())).toEqual({})
  const https = { FILES_SERVICE_URL: 'https://a:4000,https://b:4000' }
  expect(listErrors(others({ ...env, ...https, TLS_SERVER_NAME: 'leadwire' }))).toEqual({})
})

test('half of the settings is an error of the other half', () => {
  const { TLS_CERT_FILE, TLS_CA_FILE } = env as { TLS_CERT_FILE: string; TLS_CA_FILE: string }
  expect(listErrors(others({ TLS_CERT_FILE, FILES_SERVICE_URL: 'https://files' }))).toEqual({
    TLS_KEY_FILE: expect.stringContaining('is missing'),
    TLS_CA_FILE: expect.stringContaining('is missing'),
  })
  expect(Object.keys(listErrors(others({ TLS_SERVER_NAME: 'leadwire' })))).toHaveLength(3)
  expect(listErrors(others(env))).toEqual({ FILES_SERVICE_URL: expect.stringContaining('https:') })
  expect(listErrors(others({ FILES_SERVICE_URL: 'https://files' }))).toHaveProperty('FILES_SERVICE_URL')
  expect(listErrors(others({ NATS_CA_FILE: TLS_CA_FILE }))).toEqual({ NATS_CA_FILE: expect.any(String) })
  expect(listErrors(others({ NATS_URL: 'tls://a,nats://b' }))).toEqual({ NATS_URL: expect.any(String) })
})

test('a file that can not be used is an error of its setting, and shows no key', async () => {
  const https = { FILES_SERVICE_URL: 'https://files' }
  const errors = (change: object) => listErrors(others({ ...env, ...https, ...change }))
  const missing = join(folder, 'missing.pem')
  for (const name of ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'])
    expect(errors({ [name]: missing })).toEqual({ [name]: `${missing} can't be read: ENOENT` })
  const nonsense = await inFile('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')
  for (const name of ['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CA_FILE'])
    expect(errors({ [name]: nonsense })).toEqual({ [name]: expect.stringMatching(/ holds no .* in PEM$/) })
  const { key } = await (await createAuthority()).issue('another')
  expect(errors({ TLS_KEY_FILE: await inFile(key) })).toEqual({
    TLS_KEY_FILE: `the key in ${join(folder, 'other.pem')} does not match the certificate`,
  })
})

test.each([
  ['expired', 366, 'expired on'],
  ['of tomorrow', -1, 'is not valid before'],
])('a certificate that is %s is refused', (_, days, why) => {
  jest.spyOn(Date, 'now').mockReturnValue(Date.now() + days * DAY_MS)
  expect(listErrors(others({ ...env, FILES_SERVICE_URL: 'https://files' }))).toEqual({
    TLS_CERT_FILE: expect.stringContaining(why),
    TLS_CA_FILE: expect.stringContaining(why),
  })
})

test('the files that DATABASE_URL names are checked, and the password is not shown', () => {
  const errors = (query: Record<string, string>) =>
    listErrors(others({ DATABASE_URL: `postgresql://leads:secret@db/leads?${new URLSearchParams(query)}` }))
  expect(errors({ sslmode: 'verify-full', sslrootcert: files.caFile })).toEqual({})
  expect(errors({ sslcert: files.certFile, sslkey: files.keyFile })).toEqual({})
  for (const query of [
    { sslmode: 'verify-full', sslrootcert: '/nowhere' },
    { sslmode: 'disable', sslrootcert: files.caFile },
    { sslcert: files.certFile },
    { sslcert: files.certFile, sslkey: files.caFile },
  ]) {
    const { DATABASE_URL: error } = errors(query as Record<string, string>)
    expect(error).toBeDefined()
    expect(error).not.toContain('secret')
  }
})

test.each([
  'postgres://x',
  'postgresql://leads:p%40ss@db:5432/leads?sslmode=require&pgbouncer=true&application_name=mine',
  'postgresql://leads@%2Fvar%2Frun%2Fpostgresql:5432/leads',
  'postgresql:///leads?host=/var/run/postgresql',
  'postgresql://leads:secret@/leads?host=/var/run/postgresql',
])('DATABASE_URL=%s', (DATABASE_URL) => expect(listErrors(others({ DATABASE_URL }))).toEqual({}))

test.each([
  'hello',
  'mysql://leads:secret@db/leads',
  'postgresql:leads',
  'postgresql://leads:secret@db:99999/leads',
  'postgresql://leads:secret@db:0/leads',
  'postgresql://leads:secret%zz@db/leads',
  'postgresql://leads%:secret@db/leads',
  'postgresql://leads:secret@db/leads?pgbouncer=yes',
  'postgresql://leads:secret@db/leads?sslmode=on',
])('DATABASE_URL=%s is refused, and not repeated', (DATABASE_URL) => {
  const { DATABASE_URL: error } = listErrors(others({ DATABASE_URL }))
  expect(error).toMatch(/^(is not a postgresql|has a user|sslmode|pgbouncer)/)
  expect(error).not.toContain('secret')
})

test('files that are replaced one after the other are taken together', async () => {
  const logger = createLogger({ service: 'spec', level: 'silent' })
  const lifecycle = createLifecycle(logger)
  const config = readConfig(env, tlsSettings(env)) as Parameters<typeof watchTls>[0]
  const tls = watchTls(config, { lifecycle, logger })!
  const before = tls.current()
  const changes: string[] = []
  tls.onChange(({ cert }) => changes.push(cert))
  const warned = jest.spyOn(logger, 'warn')
  const next = await (await createAuthority()).issue('next')
  await writeFile(files.keyFile, next.key)
  await eventually(() => expect(warned).toHaveBeenCalled())
  expect(tls.current()).toEqual(before)
  await writeFile(files.certFile, next.cert)
  await eventually(() => expect(changes).toEqual([next.cert]))
  expect(tls.current()).toEqual({ ...before, ...next })
  await lifecycle.stop()
})
