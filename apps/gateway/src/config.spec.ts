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

test('proxies are addresses and ranges', () => {
  const { TRUSTED_PROXIES } = readGatewayConfig({
    ...NEEDED,
    TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::/32,192.0.2.1',
  })
  expect(TRUSTED_PROXIES).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.1'])
})

test('every fault is told at once', () => {
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
    expect(Object.keys((error as ConfigError).faults).sort()).toEqual(
      ['PUBLIC_URL', 'TRUSTED_PROXIES', 'TIME_ZONE', 'PORT', ...Object.keys(NEEDED)].sort(),
    )
  }
})
