import { readLeadsConfig } from './config'

const NEEDED = {
  HEALTH_PORT: '1',
  GRPC_PORT: '2',
  DATABASE_URL: 'postgres://x',
  NATS_URL: 'nats://u:p@x',
  ASSETS_URL: 'https://assets.test',
  WEBHOOK_SERVICE_URL: 'x:1',
  FILES_SERVICE_URL: 'http://x',
  SERVICE_AUTH: 'none',
  ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64'),
}

test.each([
  ['https://cdn.example.com/lw', 'https://cdn.example.com/lw'],
  ['http://127.0.0.1:3000/assets/', 'http://127.0.0.1:3000/assets'],
  ['https://leads.example.com//assets', 'https://leads.example.com/assets'],
])('ASSETS_URL=%s', (given, kept) => {
  expect(readLeadsConfig({ ...NEEDED, ASSETS_URL: given }).ASSETS_URL).toBe(kept)
})

test.each([
  ['ASSETS_URL', 'foo'],
  ['ASSETS_URL', '/assets'],
  ['ASSETS_URL', 'ftp://cdn.example.com'],
  ['ASSETS_URL', 'https://cdn.example.com/?key=1'],
  ['WEBHOOK_SERVICE_URL', 'bad://x'],
])('%s=%s is refused', (name, text) => {
  expect(() => readLeadsConfig({ ...NEEDED, [name]: text })).toThrow(`${name}: `)
})
