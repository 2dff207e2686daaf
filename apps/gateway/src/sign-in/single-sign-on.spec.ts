import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Role, SignInByEmailRequest } from '@leadwire/contracts'
import { createLogger, ServiceError } from '@leadwire/service-kit'
import { freePort, type IdentityProvider, prepareIdentityProvider, signInAt } from '@leadwire/test-kit'
import type { LightMyRequestResponse } from 'fastify'
import type { GatewayConfig } from '../config'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const PUBLIC_URL = 'https://leads.example.test/crm'
const CONSOLE = `${PUBLIC_URL}/console`
const REDIRECT_URI = `${PUBLIC_URL}/sign-in/oidc/callback`

const PEOPLE = {
  ada: { email: 'ada@example.test', email_verified: true, name: 'Ada Lovelace', groups: ['staff', 'sales'] },
  boss: { email: 'boss@example.test', email_verified: true, name: 'Kim', groups: ['sales', 'admins'] },
  one: { email: 'one@example.test', email_verified: true, groups: 'sales' },
  guest: { email: 'guest@example.test', email_verified: true, name: 'Guest' },
  unverified: { email: 'ada@example.test', email_verified: false, name: 'Ada' },
  nobody: { name: 'Nobody' },
}

const ROLES = {
  OIDC_CREATE_USERS: 5,
  OIDC_ROLE_CLAIM: 'groups',
  OIDC_ROLES: new Map<string, Role>([
    ['sales', 'sales'],
    ['admins', 'admin'],
  ]),
}

interface Scene {
  gateway: RunningGateway
  /** The calls of `signInByEmail`. */
  asked: SignInByEmailRequest[]
  /** The fields of each warning. */
  warnings: Record<string, unknown>[]
}

/** The links that leads-service returns. */
let accounts: string[]
let failure: ServiceError | undefined
beforeEach(() => {
  accounts = ['Clear Windows']
  failure = undefined
})

const running: { stop: () => Promise<unknown> }[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop()
})

const startScene = async (config: Partial<GatewayConfig>, now?: () => number): Promise<Scene> => {
  const asked: SignInByEmailRequest[] = []
  const logger = createLogger({ service: 'gateway', level: 'silent' })
  const warnings: Scene['warnings'] = []
  jest.spyOn(logger, 'warn').mockImplementation((fields: unknown) => {
    warnings.push(fields as Record<string, unknown>)
  })
  const signInByEmail = async (request: SignInByEmailRequest) => {
    asked.push(request)
    if (failure) throw failure
    const links = accounts.map((accountName, index) => ({
      accountName,
      url: `${request.consoleUrl}#sign-in=lw_sso_${index}`,
    }))
    return { links }
  }
  const options = { config: { PUBLIC_URL, ...config }, logger, ...(now && { now }) }
  const gateway = await startGateway({ accounts: { signInByEmail } }, options)
  running.push(gateway)
  return { gateway, asked, warnings }
}

/** Keeps the cookies that a browser would keep. */
const createBrowser = ({ gateway }: Pick<Scene, 'gateway'>) => {
  const cookies = new Map<string, string>()
  const get = async (url: string): Promise<LightMyRequestResponse> => {
    const cookie = [...cookies].map((pair) => pair.join('=')).join('; ')
    const response = await gateway.app.inject({ url, headers: { cookie } })
    for (const { name, value, maxAge } of response.cookies) {
      if (maxAge === 0) cookies.delete(name)
      else cookies.set(name, value)
    }
    return response
  }
  /** Starts a sign-in. Returns the URL of the provider. */
  const start = async () => new URL((await get('/sign-in/oidc')).headers.location!)
  /** Follows the provider's redirect to the callback. Returns the URL of the console. */
  const finish = async ({ search }: Pick<URL, 'search'>): Promise<string> => {
    const response = await get(`/sign-in/oidc/callback${search}`)
    expect([response.statusCode, response.headers['cache-control']]).toEqual([303, 'no-store'])
    return response.headers.location!
  }
  return { cookies, get, start, finish }
}

describe('with an identity provider', () => {
  let provider: IdentityProvider
  let scene: Scene
  beforeAll(async () => {
    provider = await prepareIdentityProvider({ people: PEOPLE, redirectUris: () => [REDIRECT_URI] })
    await provider.start()
  })
  afterAll(() => provider.stop())
  beforeEach(async () => {
    scene = await startScene(provider.settings)
  })

  const signIn = async (person: string, where = scene): Promise<string> => {
    const browser = createBrowser(where)
    return browser.finish(await signInAt((await browser.start()).href, person))
  }

  test('a person signs in', async () => {
    const browser = createBrowser(scene)
    const url = await browser.start()
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'leadwire',
      redirect_uri: REDIRECT_URI,
      scope: 'openid email profile',
      code_challenge_method: 'S256',
    })
    expect(await browser.finish(await signInAt(url.href, 'ada'))).toBe(`${CONSOLE}#sign-in=lw_sso_0&now`)
    const secret = browser.cookies.get('__Host-leadwire-browser-443')!
    expect(scene.asked).toEqual([
      {
        email: 'ada@example.test',
        name: 'Ada Lovelace',
        browserHash: createHash('sha256').update(secret).digest(),
        consoleUrl: CONSOLE,
        role: undefined,
        createInAccountId: undefined,
      },
    ])
    // The cookie of the sign-in is gone.
    expect([...browser.cookies.keys()]).toEqual(['__Host-leadwire-browser-443'])
    expect(scene.warnings).toEqual([])
  })

  test('the cookie of a sign-in is for this host only, and no script can read it', async () => {
    const { headers } = await createBrowser(scene).get('/sign-in/oidc')
    expect(headers['set-cookie']).toMatch(
      /^__Host-leadwire-oidc-443=[\w.-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/i,
    )
  })

  test('a person with several accounts chooses', async () => {
    accounts = ['Clear Windows', 'Räume & Co']
    const url = await signIn('ada')
    const [place, fragment = ''] = url.split('#choose=')
    expect(place).toBe(CONSOLE)
    expect(JSON.parse(decodeURIComponent(fragment))).toEqual([
      { account: 'Clear Windows', secret: 'lw_sso_0' },
      { account: 'Räume & Co', secret: 'lw_sso_1' },
    ])
  })

  test.each([
    ['unverified', 'unverified', 'The identity provider has not verified the email address.'],
    ['nobody', 'unverified', 'The identity provider sends no email address.'],
    ['stranger', 'denied', 'authorization response from the server is an error'],
  ])('%s is refused as %s', async (person, reason, detail) => {
    expect(await signIn(person)).toBe(`${CONSOLE}#sign-in-failed=${reason}`)
    expect(scene.asked).toEqual([])
    expect(scene.warnings).toMatchObject([{ reason, details: [detail] }])
  })

  test('a person without a user is unknown', async () => {
    accounts = []
    expect(await signIn('ada')).toBe(`${CONSOLE}#sign-in-failed=unknown`)
    expect(scene.warnings).toMatchObject([{ reason: 'unknown' }])
    expect(JSON.stringify(scene.warnings)).not.toContain(PEOPLE.ada.email)
  })

  test.each([
    ['ada', 'sales'],
    ['boss', 'admin'],
    ['one', 'sales'],
    ['guest', undefined],
  ])('the claim of %s gives the role %s', async (person, role) => {
    const { asked, ...rest } = await startScene({ ...provider.settings, ...ROLES })
    await signIn(person, { asked, ...rest })
    expect(asked).toMatchObject([{ createInAccountId: 5 }])
    expect(asked[0]!.role).toBe(role)
  })

  test('a user without a name is named by the email address', async () => {
    await signIn('one')
    expect(scene.asked[0]!.name).toBe('one@example.test')
  })

  test.each([
    ['unavailable', 'unavailable'],
    ['not_found', 'failed'],
  ] as const)('if leads-service responds %s, the sign-in is %s', async (code, reason) => {
    failure = new ServiceError(code, 'There is no such account.')
    expect(await signIn('ada')).toBe(`${CONSOLE}#sign-in-failed=${reason}`)
    expect(scene.warnings).toMatchObject([{ reason, details: ['There is no such account.'] }])
  })

  describe('refuses', () => {
    const REFUSED = `${CONSOLE}#sign-in-failed=failed`

    /** Finishes a sign-in with a changed URL. Returns the details in the log. */
    const finishChanged = async (change: (url: URL) => void) => {
      const browser = createBrowser(scene)
      const url = await signInAt((await browser.start()).href, 'ada')
      change(url)
      expect(await browser.finish(url)).toBe(REFUSED)
      expect(scene.asked).toEqual([])
      const [warning] = scene.warnings
      expect(JSON.stringify(warning)).not.toContain(url.searchParams.get('code'))
      return warning!['details']
    }

    test('another state', async () => {
      const details = await finishChanged((url) => url.searchParams.set('state', 'another'))
      expect(details).toContain('unexpected "state" response parameter value')
    })

    test('no state', async () => {
      const details = await finishChanged((url) => url.searchParams.delete('state'))
      expect(details).toContain('response parameter "state" missing')
    })

    test('another issuer', async () => {
      const details = await finishChanged((url) => url.searchParams.set('iss', 'https://evil.example.test'))
      expect(details).toContain('unexpected "iss" (issuer) response parameter value')
    })

    test('a code of another sign-in, because the verifier differs', async () => {
      const other = createBrowser(scene)
      const stolen = await signInAt((await other.start()).href, 'boss')
      await finishChanged((url) => url.searchParams.set('code', stolen.searchParams.get('code')!))
      expect(scene.warnings).toMatchObject([{ provider_error: 'invalid_grant' }])
    })

    test('a code that was used before', async () => {
      const browser = createBrowser(scene)
      const url = await signInAt((await browser.start()).href, 'ada')
      const [name, flow] = [...browser.cookies][0]!
      await browser.finish(url)
      browser.cookies.set(name, flow)
      expect(await browser.finish(url)).toBe(REFUSED)
    })

    test('the callback of a sign-in that another browser has started', async () => {
      const url = await signInAt((await createBrowser(scene).start()).href, 'ada')
      expect(await createBrowser(scene).finish(url)).toBe(REFUSED)
      const details = ['This browser has started no sign-in within the last 10 minutes.']
      expect(scene.warnings).toMatchObject([{ reason: 'failed', details }])
    })

    test('a callback without parameters, and errors of strangers are not logged', async () => {
      const browser = createBrowser(scene)
      await browser.start()
      expect(await browser.finish({ search: '' })).toBe(REFUSED)
      const { searchParams } = await browser.start()
      const search = `?error=%3Cscript%3E&state=${searchParams.get('state')}&iss=${provider.settings.OIDC_ISSUER}`
      expect(await browser.finish({ search })).toBe(`${CONSOLE}#sign-in-failed=denied`)
      expect(JSON.stringify(scene.warnings)).not.toContain('script')
    })
  })

  test('the provider is away and comes back', async () => {
    await provider.stop()
    const browser = createBrowser(scene)
    const failed = `${CONSOLE}#sign-in-failed=unavailable`
    expect((await browser.get('/sign-in/oidc')).headers.location).toBe(failed)
    expect(scene.warnings).toMatchObject([{ reason: 'unavailable', code: 'ECONNREFUSED' }])
    await provider.start()
    expect(await signIn('ada')).toContain('#sign-in=')

    const url = await signInAt((await browser.start()).href, 'ada')
    await provider.stop()
    expect(await browser.finish(url)).toBe(failed)
    await provider.start()
    expect(await signIn('ada')).toContain('#sign-in=')
  })

  test('the sign-in page shows the provider', async () => {
    const { gateway } = await startScene({ ...provider.settings, OIDC_NAME: 'Example Ltd' })
    const response = await gateway.app.inject({ url: '/sign-in-methods' })
    const oidc = { name: 'Example Ltd', url: `${PUBLIC_URL}/sign-in/oidc` }
    expect(response.json()).toEqual({ data: { email: true, oidc } })
  })

  test('an address that sends too many requests gets a 429', async () => {
    const statuses = new Map<number, number>()
    for (let count = 0; count < 602; count += 1) {
      const { statusCode } = await scene.gateway.app.inject({ url: '/sign-in/oidc/callback' })
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
    }
    expect([...statuses]).toEqual([
      [303, 600],
      [429, 2],
    ])
  })
})

test('without an identity provider there are no routes for it', async () => {
  const { gateway } = await startScene({})
  const methods = await gateway.app.inject({ url: '/sign-in-methods' })
  expect(methods.json()).toEqual({ data: { email: true, oidc: null } })
  expect((await gateway.app.inject({ url: '/sign-in/oidc' })).statusCode).toBe(404)
  expect((await gateway.app.inject({ url: '/sign-in/oidc/callback' })).statusCode).toBe(404)
})

describe('with a provider that does not behave', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 })

  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signToken = (claims: object, key = privateKey, header: object = { alg: 'RS256', kid: 'key' }) => {
    const content = `${encode(header)}.${encode(claims)}`
    return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
  }

  const listen = async (handle: RequestListener, port = 0) => {
    const server = createServer(handle)
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
    const stop = () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(resolve))
    }
    running.push({ stop })
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  interface Behaviour {
    issuer?: string
    /** Makes the ID token. `good` has valid claims. */
    makeToken?: (good: Record<string, unknown>) => string
    tokenStatus?: number
  }

  /** Starts a provider and a gateway. `finish` signs in with the ID token that `makeToken` makes. */
  const startFake = async (
    { issuer: wrongIssuer, makeToken = signToken, tokenStatus = 200 }: Behaviour,
    now = () => 0,
  ) => {
    const requests: string[] = []
    let nonce = ''
    const origin = await listen((request, response) => {
      requests.push(request.url!)
      const issuer = wrongIssuer ?? origin
      const endpoints = { authorization_endpoint: `${origin}/auth`, token_endpoint: `${origin}/token` }
      const exp = Math.floor(Date.now() / 1000) + 60
      const claims = { iss: issuer, aud: 'leadwire', sub: '7', iat: exp - 60, exp, nonce }
      const person = { email: 'ada@example.test', email_verified: true }
      const answers: Record<string, () => object> = {
        '/.well-known/openid-configuration': () => ({ issuer, ...endpoints, jwks_uri: `${origin}/keys` }),
        '/keys': () => ({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'key', use: 'sig' }] }),
        '/token': () => ({
          access_token: 'access',
          token_type: 'bearer',
          id_token: makeToken({ ...claims, ...person }),
        }),
      }
      const status = request.url === '/token' ? tokenStatus : 200
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answers[request.url!]?.()))
    })
    const client = { OIDC_CLIENT_ID: 'leadwire', OIDC_CLIENT_SECRET: 'secret' }
    const scene = await startScene({ OIDC_ISSUER: origin, ...client }, now)
    const browser = createBrowser(scene)
    const signIn = async () => {
      const url = await browser.start()
      nonce = url.searchParams.get('nonce') ?? ''
      return browser.finish({ search: `?code=a-code&state=${url.searchParams.get('state')}` })
    }
    return { ...scene, browser, requests, signIn }
  }

  test('a valid ID token signs in, without a request for UserInfo', async () => {
    const { signIn, requests } = await startFake({})
    expect(await signIn()).toBe(`${CONSOLE}#sign-in=lw_sso_0&now`)
    expect(requests).toEqual(['/.well-known/openid-configuration', '/token', '/keys'])
  })

  const later = Math.floor(Date.now() / 1000) - 3600
  test.each<[string, NonNullable<Behaviour['makeToken']>, string]>([
    [
      'nonce of another sign-in',
      (good) => signToken({ ...good, nonce: 'other' }),
      'unexpected ID Token "nonce" claim value',
    ],
    [
      'issuer',
      (good) => signToken({ ...good, iss: 'https://evil.example.test' }),
      'unexpected JWT "iss" (issuer) claim value',
    ],
    [
      'audience',
      (good) => signToken({ ...good, aud: 'another' }),
      'unexpected JWT "aud" (audience) claim value',
    ],
    [
      'expiry',
      (good) => signToken({ ...good, exp: later }),
      'unexpected JWT "exp" (expiration time) claim value, expiration is past current timestamp',
    ],
    ['signature', (good) => signToken(good, other.privateKey), 'JWT signature verification failed'],
    [
      'key',
      (good) => signToken(good, other.privateKey, { alg: 'RS256', kid: 'other' }),
      'error when selecting a JWT verification key, no applicable keys found',
    ],
    [
      'algorithm',
      (good) => signToken(good, privateKey, { alg: 'none' }),
      'unexpected JWT "alg" header parameter',
    ],
  ])('an ID token with a wrong %s is refused', async (_what, makeToken, detail) => {
    const { signIn, asked, warnings } = await startFake({ makeToken })
    expect(await signIn()).toBe(`${CONSOLE}#sign-in-failed=failed`)
    expect(asked).toEqual([])
    expect(warnings).toHaveLength(1)
    expect(warnings[0]!['details']).toContain(detail)
    expect(JSON.stringify(warnings)).not.toMatch(/ada@|a-code|access|eyJ/)
  })

  test('metadata of another issuer are refused', async () => {
    const { browser, warnings } = await startFake({ issuer: 'https://evil.example.test' })
    const { headers } = await browser.get('/sign-in/oidc')
    expect(headers.location).toBe(`${CONSOLE}#sign-in-failed=failed`)
    const details = ['discovered metadata issuer does not match the expected issuer']
    expect(warnings).toMatchObject([{ details }])
  })

  test.each([500, 503, 429])('a response with %s counts as unavailable', async (tokenStatus) => {
    const { signIn } = await startFake({ tokenStatus })
    expect(await signIn()).toBe(`${CONSOLE}#sign-in-failed=unavailable`)
  })

  test('the metadata are read again after an hour', async () => {
    let time = 0
    const { signIn, requests } = await startFake({}, () => time)
    const count = () => requests.filter((path) => path.includes('well-known')).length
    await signIn()
    time = 3_599_999
    await signIn()
    expect(count()).toBe(1)
    time = 3_600_000
    await signIn()
    expect(count()).toBe(2)
  })

  test('a provider that hangs delays nothing else, and counts as unavailable after 5 s', async () => {
    const issuer = await listen(() => undefined)
    const client = { OIDC_CLIENT_ID: 'leadwire', OIDC_CLIENT_SECRET: 'secret' }
    const { gateway } = await startScene({ OIDC_ISSUER: issuer, ...client })
    const startedAt = performance.now()
    const signIn = createBrowser({ gateway }).get('/sign-in/oidc')
    const quick = await gateway.app.inject({ url: '/sign-in-methods' })
    expect([quick.statusCode, performance.now() - startedAt < 4000]).toEqual([200, true])
    expect((await signIn).headers.location).toBe(`${CONSOLE}#sign-in-failed=unavailable`)
    expect(Math.round((performance.now() - startedAt) / 1000)).toBeGreaterThanOrEqual(5)
  })

  test('nothing is sent to the provider before the first sign-in', async () => {
    const port = await freePort()
    const client = { OIDC_CLIENT_ID: 'leadwire', OIDC_CLIENT_SECRET: 'secret' }
    const { gateway, warnings } = await startScene({ OIDC_ISSUER: `http://127.0.0.1:${port}`, ...client })
    expect((await gateway.app.inject({ url: '/sign-in-methods' })).statusCode).toBe(200)
    expect(warnings).toEqual([])
  })
})
