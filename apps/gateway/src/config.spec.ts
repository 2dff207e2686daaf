import { ConfigError } from '@leadwire/service-kit'
import { readGatewayConfig } from './config'

const NEEDED = {
  HEALTH_PORT: '4001',
  LEADS_SERVICE_URL: '127.0.0.1:4002',
  FILES_SERVICE_URL: 'http://files-service:4000',
  WEBHOOK_SERVICE_URL: 'ipv4:127.0.0.1:4004,127.0.0.1:4005',
  SERVICE_TOKEN: 'a-token-for-the-specs',
}

test('what is not set has its default', () => {
  expect(readGatewayConfig(NEEDED)).toMatchObject({
    HOST: '127.0.0.1',
    PORT: 3000,
    LOG_LEVEL: 'info',
    PUBLIC_URL: undefined,
    TRUSTED_PROXIES: [],
    TIME_ZONE: 'Europe/London',
    ACCOUNT_MAX_UPLOADS: 32,
    RATE_LIMIT: undefined,
    CORS_ORIGINS: [],
    COMPRESSION: false,
  })
})

test.each([
  'files-service:4000',
  'dns:///files-service:4000',
  'https://files-service',
  'http://files-service:4000/files',
  'http://user:pw@files-service:4000',
  'http://a:4000,,http://b:4000',
])('FILES_SERVICE_URL refuses %s', (url) => {
  expect(() => readGatewayConfig({ ...NEEDED, FILES_SERVICE_URL: url })).toThrow('FILES_SERVICE_URL')
})

test.each(['LEADS_SERVICE_URL', 'WEBHOOK_SERVICE_URL'])('%s is a gRPC target', (name) => {
  expect(() => readGatewayConfig({ ...NEEDED, [name]: 'bad://x' })).toThrow(`${name}: `)
})

test('files-service may be several addresses', () => {
  const { FILES_SERVICE_URL } = readGatewayConfig({
    ...NEEDED,
    FILES_SERVICE_URL: 'http://127.0.0.1:4000, http://[::1]:4000',
  })
  expect(FILES_SERVICE_URL.map(({ host }) => host)).toEqual(['127.0.0.1:4000', '[::1]:4000'])
})

test.each(['0', '-1', '1.5', 'many'])('ACCOUNT_MAX_UPLOADS refuses %s', (count) => {
  expect(() => readGatewayConfig({ ...NEEDED, ACCOUNT_MAX_UPLOADS: count })).toThrow('ACCOUNT_MAX_UPLOADS')
})

test.each([
  ['https://api.example.test', 'https://api.example.test'],
  ['https://api.example.test/', 'https://api.example.test'],
  ['https://api.example.test/crm/', 'https://api.example.test/crm'],
])('PUBLIC_URL %s', (given, kept) => {
  expect(readGatewayConfig({ ...NEEDED, PUBLIC_URL: given }).PUBLIC_URL).toBe(kept)
})

test.each(['127.0.0.1', '127.1.2.3', '::1', 'localhost', ''])('HOST %s needs no PUBLIC_URL', (HOST) => {
  expect(readGatewayConfig({ ...NEEDED, HOST }).PUBLIC_URL).toBeUndefined()
})

test.each([
  '0.0.0.0',
  '::',
  '192.0.2.1',
  '127.example.com',
  'leads.example.com',
])('HOST %s needs one', (HOST) => {
  const expected = new RegExp(
    `^PUBLIC_URL: is missing: set the address that clients use, .*, because HOST is ${HOST}`,
  )
  for (const PUBLIC_URL of [undefined, ''])
    expect(() => readGatewayConfig({ ...NEEDED, HOST, PUBLIC_URL })).toThrow(expected)
  const PUBLIC_URL = 'https://api.example.test'
  expect(readGatewayConfig({ ...NEEDED, HOST, PUBLIC_URL })).toMatchObject({ HOST, PUBLIC_URL })
})

test.each(['TRUSTED_PROXIES', 'WEBHOOK_SOURCE_ADDRESSES'] as const)('%s are addresses and ranges', (name) => {
  const read = (text: string) => readGatewayConfig({ ...NEEDED, [name]: text })[name]
  expect(read('10.0.0.0/8, 2001:db8::/32,192.0.2.1')).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'])
  for (const wrong of ['192.0.2.1/33', '192.0.2.300', 'proxy.example', '2001:db8::/129'])
    expect(() => read(`10.0.0.1, ${wrong}`)).toThrow(`${name}: not an address or CIDR range: ${wrong}`)
})

test.each([{ PORT: '4001' }, { HEALTH_PORT: '3000' }])('HEALTH_PORT is not PORT: %j', (ports) => {
  expect(() => readGatewayConfig({ ...NEEDED, ...ports })).toThrow(
    /^HEALTH_PORT: \d+ is also the port of PORT$/,
  )
})

test.each([
  ['600/1m', { requests: 600, windowMs: 60_000 }],
  ['1/1s', { requests: 1, windowMs: 1000 }],
  ['5/1d', { requests: 5, windowMs: 86_400_000 }],
])('RATE_LIMIT %s', (given, kept) => {
  expect(readGatewayConfig({ ...NEEDED, RATE_LIMIT: given }).RATE_LIMIT).toEqual(kept)
})

test.each([
  '600',
  '600/',
  '0/1m',
  '600/0s',
  '600/1500ms',
  '600/500ms',
  '600/2d',
  '600/1 m',
  'x/1m',
  '-1/1m',
])('RATE_LIMIT refuses %s', (limit) => {
  expect(() => readGatewayConfig({ ...NEEDED, RATE_LIMIT: limit })).toThrow('RATE_LIMIT')
})

test('origins are a list, or all', () => {
  const read = (CORS_ORIGINS: string) => readGatewayConfig({ ...NEEDED, CORS_ORIGINS }).CORS_ORIGINS
  expect(read('*')).toEqual(['*'])
  expect(read('https://a.example, http://localhost:5173')).toEqual([
    'https://a.example',
    'http://localhost:5173',
  ])
})

test.each([
  'a.example',
  'https://a.example/',
  'https://*.example',
  'https://A.example',
  'ftp://a.example',
  'null',
])('CORS_ORIGINS refuses %s', (origins) => {
  expect(() => readGatewayConfig({ ...NEEDED, CORS_ORIGINS: origins })).toThrow('CORS_ORIGINS')
})

test('COMPRESSION is on or off', () => {
  expect(readGatewayConfig({ ...NEEDED, COMPRESSION: 'true' }).COMPRESSION).toBe(true)
  expect(() => readGatewayConfig({ ...NEEDED, COMPRESSION: 'zip' })).toThrow('COMPRESSION')
})

describe('the identity provider', () => {
  const PROVIDER = {
    OIDC_ISSUER: 'https://login.example.com/realms/example',
    OIDC_CLIENT_ID: 'leadwire',
    OIDC_CLIENT_SECRET: 'secret',
  }
  const NEW_USERS = { OIDC_CREATE_USERS: '7', OIDC_ROLE_CLAIM: 'groups', OIDC_ROLES: 'a=admin' }
  const read = (env: NodeJS.ProcessEnv) => readGatewayConfig({ ...NEEDED, ...env })
  const readErrors = (env: NodeJS.ProcessEnv) => {
    try {
      return read(env) && {}
    } catch (error) {
      return (error as ConfigError).errors
    }
  }

  test('has a name, scopes and roles', () => {
    expect(read(PROVIDER)).toMatchObject({
      ...PROVIDER,
      OIDC_NAME: 'Single sign-on',
      OIDC_SCOPES: '',
      OIDC_CREATE_USERS: undefined,
    })
    const roles = ' leadwire-admins = admin, CN=Sales=sales,/viewers=viewer'
    const names = { OIDC_NAME: 'Example Ltd', OIDC_SCOPES: 'groups roles' }
    expect(read({ ...PROVIDER, ...NEW_USERS, ...names, OIDC_ROLES: roles })).toMatchObject({
      ...names,
      OIDC_CREATE_USERS: 7,
      OIDC_ROLE_CLAIM: 'groups',
      OIDC_ROLES: new Map([
        ['leadwire-admins', 'admin'],
        ['CN=Sales', 'sales'],
        ['/viewers', 'viewer'],
      ]),
    })
  })

  test.each(Object.keys(PROVIDER))('needs %s', (name) => {
    const needs = 'is missing: an identity provider needs OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET'
    expect(readErrors({ ...PROVIDER, [name]: '' })).toEqual({ [name]: needs })
  })

  test('is needed by its other settings', () => {
    expect(Object.keys(readErrors({ OIDC_NAME: 'Example Ltd' }))).toEqual(Object.keys(PROVIDER))
  })

  test.each(Object.keys(NEW_USERS))('creates users only with %s', (name) => {
    const needs = 'is missing: the creation of users needs OIDC_CREATE_USERS, OIDC_ROLE_CLAIM, OIDC_ROLES'
    expect(readErrors({ ...PROVIDER, ...NEW_USERS, [name]: '' })).toEqual({ [name]: needs })
  })

  test.each([
    'https://login.example.com',
    'https://login.example.com/',
    'http://127.0.0.1:8080/realms/a',
    'http://[::1]:8080',
    'http://localhost:8080',
  ])('may be %s', (issuer) => {
    expect(read({ ...PROVIDER, OIDC_ISSUER: issuer }).OIDC_ISSUER).toBe(issuer)
  })

  test.each([
    'login.example.com',
    'http://login.example.com',
    'https://user:pw@login.example.com',
    'https://login.example.com/?tenant=1',
    'https://login.example.com/#a',
    'https://login.example.com/.well-known/openid-configuration',
  ])('may not be %s', (issuer) => {
    expect(Object.keys(readErrors({ ...PROVIDER, OIDC_ISSUER: issuer }))).toEqual(['OIDC_ISSUER'])
  })

  test.each([
    ['OIDC_ROLES', 'admins'],
    ['OIDC_ROLES', 'admins=owner'],
    ['OIDC_ROLES', '=admin'],
    ['OIDC_CREATE_USERS', 'Example Ltd'],
    ['OIDC_CREATE_USERS', '0'],
    ['OIDC_SCOPES', 'groups,roles "all"'],
  ])('refuses %s=%s', (name, value) => {
    expect(Object.keys(readErrors({ ...PROVIDER, ...NEW_USERS, [name]: value }))).toEqual([name])
  })
})

test('every error is reported at once', () => {
  const read = () =>
    readGatewayConfig({
      PUBLIC_URL: 'https://user:pw@x.example',
      TRUSTED_PROXIES: '10.0.0.0/33,proxy.example',
      TIME_ZONE: 'Mars/Olympus',
      PORT: 'x',
    })
  expect(read).toThrow(ConfigError)
  try {
    read()
  } catch (error) {
    expect(Object.keys((error as ConfigError).errors).sort()).toEqual(
      ['PUBLIC_URL', 'TRUSTED_PROXIES', 'TIME_ZONE', 'PORT', ...Object.keys(NEEDED)].sort(),
    )
    expect((error as ConfigError).message).not.toContain('user:pw')
  }
})
