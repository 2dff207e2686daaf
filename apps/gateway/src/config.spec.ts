import { ConfigError } from '@leadwire/service-kit'
import { readGatewayConfig } from './config'

const NEEDED = {
  HEALTH_PORT: '4001',
  LEADS_SERVICE_URL: '127.0.0.1:4002',
  FILES_SERVICE_URL: 'dns:///files-service:4000',
  WEBHOOK_SERVICE_URL: 'ipv4:127.0.0.1:4004,127.0.0.1:4005',
}

test('what is not set has its default', () => {
  expect(readGatewayConfig(NEEDED)).toMatchObject({
    HOST: '127.0.0.1',
    PORT: 3000,
    LOG_LEVEL: 'info',
    PUBLIC_URL: undefined,
    TRUSTED_PROXIES: [],
    TIME_ZONE: 'Europe/London',
  })
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
