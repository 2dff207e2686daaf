import { planServices, type Surroundings } from './services'

const surroundings = (changes: Partial<Surroundings> = {}): Surroundings => ({
  replicas: 1,
  gateway: { host: '127.0.0.1', port: 3000 },
  databases: { leads: 'postgresql://leads', webhooks: 'postgresql://webhooks' },
  nats: 'nats://127.0.0.1:4222',
  store: { STORE_URL: 'file:///files' },
  mail: '/data/mail',
  serviceToken: 'a-token-for-the-specs',
  encryptionKey: 'a-key-for-the-specs',
  env: { WEBHOOK_TIMEOUT: '2s', DATABASE_URL: 'postgresql://a-stranger' },
  ...changes,
})

test('each service gets the addresses of the others, and keeps the settings of the environment', async () => {
  const plans = await planServices(surroundings())
  const plan = (name: string) => plans.find((found) => found.name === name)!
  expect(plans.map(({ name }) => name)).toEqual([
    'gateway',
    'leads-service',
    'files-service',
    'webhook-service',
  ])
  expect(plan('gateway')).toMatchObject({ base: 'http://127.0.0.1:3000', grpc: null })
  expect(plan('gateway').env).toMatchObject({
    PORT: '3000',
    PUBLIC_URL: 'http://127.0.0.1:3000',
    LEADS_SERVICE_URL: `ipv4:${plan('leads-service').grpc}`,
    FILES_SERVICE_URL: plan('files-service').http,
    WEBHOOK_SERVICE_URL: `ipv4:${plan('webhook-service').grpc}`,
  })
  expect(plan('leads-service').env).toMatchObject({
    DATABASE_URL: 'postgresql://leads',
    ASSETS_URL: 'http://127.0.0.1:3000/assets',
  })
  expect(plan('webhook-service').env).toMatchObject({
    DATABASE_URL: 'postgresql://webhooks',
    WEBHOOK_TIMEOUT: '2s',
    SMTP_URL: 'file:///data/mail',
  })
  expect(plan('files-service')).toMatchObject({
    grpc: null,
    http: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
    env: { STORE_URL: 'file:///files', HTTP_PORT: new URL(plan('files-service').http!).port },
  })
  for (const { env } of plans) expect(env['SERVICE_TOKEN']).toBe('a-token-for-the-specs')
})

test('copies have separate ports, and their callers get the addresses of all copies', async () => {
  const plans = await planServices(surroundings({ replicas: 2 }))
  expect(plans.map(({ name }) => name)).toContain('gateway-2')
  const leads = plans.filter(({ service }) => service === 'leads-service').map(({ grpc }) => grpc)
  for (const { env } of plans.filter(({ service }) => service === 'gateway')) {
    expect(env['LEADS_SERVICE_URL']).toBe(`ipv4:${leads.join(',')}`)
  }
  const files = plans.flatMap(({ http }) => http ?? [])
  for (const { env, service } of plans)
    if (service === 'gateway' || service === 'leads-service')
      expect(env['FILES_SERVICE_URL']).toBe(files.join(','))
  const ports = plans.flatMap(({ base, grpc, http, health }) => [base, grpc, http, health]).filter(Boolean)
  expect(new Set(ports).size).toBe(16)
})

test('a token in the environment replaces the generated one', async () => {
  const [plan] = await planServices(surroundings({ env: { SERVICE_TOKEN: 'a-token-of-the-environment' } }))
  expect(plan!.env['SERVICE_TOKEN']).toBe('a-token-of-the-environment')
})

test('images use the public address, and a host that means "any" is called as loopback', async () => {
  const [gateway] = await planServices(
    surroundings({ gateway: { host: '::', port: 3000 }, env: { PUBLIC_URL: 'https://leads.example/' } }),
  )
  expect(gateway!.base).toBe('http://[::1]:3000')
  expect(gateway!.env).toMatchObject({
    PUBLIC_URL: 'https://leads.example/',
    ASSETS_URL: 'https://leads.example/assets',
  })
})

test('every gateway gets a public address unless the environment sets one, also in a file', async () => {
  const findPublicUrls = async (env: NodeJS.ProcessEnv) => {
    const plans = await planServices(
      surroundings({ gateway: { host: '0.0.0.0', port: 3000 }, replicas: 2, env }),
    )
    return plans.flatMap((plan) => (plan.service === 'gateway' ? [plan.env['PUBLIC_URL']] : []))
  }
  expect(await findPublicUrls({})).toEqual(Array(2).fill('http://127.0.0.1:3000'))
  expect(await findPublicUrls({ PUBLIC_URL: '' })).toEqual(Array(2).fill('http://127.0.0.1:3000'))
  expect(await findPublicUrls({ PUBLIC_URL_FILE: '/run/public-url' })).toEqual([undefined, undefined])
})

test('with certificates files-service uses https, and all services get a certificate', async () => {
  const tls = { certFile: '/tls/cert.pem', keyFile: '/tls/key.pem', caFile: '/tls/ca.pem' }
  const plans = await planServices(surroundings({ tls, natsCaFile: '/tls/nats.pem' }))
  const files = plans.find(({ service }) => service === 'files-service')!
  expect(files.http).toMatch(/^https:/)
  for (const { env, health } of plans) {
    expect(env).toMatchObject({
      TLS_CERT_FILE: '/tls/cert.pem',
      TLS_KEY_FILE: '/tls/key.pem',
      TLS_CA_FILE: '/tls/ca.pem',
      TLS_SERVER_NAME: 'localhost',
    })
    expect(health).toMatch(/^http:/)
  }
  const told = plans.filter(({ env }) => env['NATS_CA_FILE'] === '/tls/nats.pem').map(({ name }) => name)
  expect(told).toEqual(['leads-service', 'webhook-service'])
})
