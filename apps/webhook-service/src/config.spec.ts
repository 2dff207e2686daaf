import { readWebhookConfig } from './config'

const NEEDED = {
  HEALTH_PORT: '1',
  GRPC_PORT: '2',
  DATABASE_URL: 'postgres://x',
  NATS_URL: 'nats://u:p@x',
  SMTP_URL: 'file:///tmp/mail',
  SMTP_FROM: 'leads@example.com',
  SERVICE_AUTH: 'none',
  ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64'),
}
const readProxy = (text: string) => readWebhookConfig({ ...NEEDED, WEBHOOK_PROXY: text }).WEBHOOK_PROXY
const read = (text?: string) =>
  readWebhookConfig({ ...NEEDED, ...(text !== undefined && { WEBHOOK_DISABLE_AFTER: text }) })
    .WEBHOOK_DISABLE_AFTER

test.each([
  [undefined, Number.POSITIVE_INFINITY],
  ['off', Number.POSITIVE_INFINITY],
  ['5d', 432_000_000],
  ['432000', 432_000_000],
])('WEBHOOK_DISABLE_AFTER=%s', (text, expected) => expect(read(text)).toBe(expected))

test.each(['soon', '-1', '5 days', '99999999999'])('WEBHOOK_DISABLE_AFTER=%s is refused', (text) =>
  expect(() => read(text)).toThrow('WEBHOOK_DISABLE_AFTER'))

test.each([
  ['http://proxy.internal:3128', 'http://proxy.internal:3128/'],
  ['https://user:p%40ss@[fd00::1]:443/', 'https://user:p%40ss@[fd00::1]/'],
])('WEBHOOK_PROXY=%s', (text, expected) => expect(readProxy(text)?.href).toBe(expected))

test.each([
  'proxy.internal:3128',
  'socks5://s3cret@proxy:1080',
  'http://u:s3cret@proxy/path',
  'http://u:s3cret@proxy?a',
  'http://u:s3cret%zz@proxy',
  'http://u:s3cret@proxy:99999',
  'http://proxy:0',
])('WEBHOOK_PROXY=%s is refused, and the error does not repeat it', (text) =>
  expect(() => readProxy(text)).toThrow(
    /^WEBHOOK_PROXY: must be an http:\/\/\[user:password@\]host\[:port\] or https:\/\/ URL$/,
  ))

const readSetting = (name: keyof ReturnType<typeof readWebhookConfig>, text: string) =>
  readWebhookConfig({ ...NEEDED, [name]: text })[name]

test('WEBHOOK_ALLOW_HOSTS accepts host names, addresses and ranges', () => {
  const entries = ['10.0.0.0/8', '192.0.2.1', '::1', '[fd00::1]', 'fd00::/8', 'my_host', 'Hooks.Internal.']
  expect(readSetting('WEBHOOK_ALLOW_HOSTS', entries.join(', '))).toEqual(entries)
  const wrong = [
    '10.0.0.0/33',
    'http://x',
    'host:80',
    '*',
    'foo bar',
    '*.internal',
    '10.0.0.300',
    '127.1',
    'a/8',
  ]
  for (const entry of wrong)
    expect(() => readSetting('WEBHOOK_ALLOW_HOSTS', `localhost,${entry}`)).toThrow(
      `WEBHOOK_ALLOW_HOSTS: not a host name, address or CIDR range: ${entry}`,
    )
})

test.each([
  ['WEBHOOK_TIMEOUT', '0s'],
  ['WEBHOOK_TIMEOUT', '99ms'],
  ['WEBHOOK_TIMEOUT', '61m'],
  ['WEBHOOK_TIMEOUT', '30d'],
  ['SMTP_TIMEOUT', '0s'],
  ['SMTP_TIMEOUT', '3601s'],
  ['WEBHOOK_RETRY_SCHEDULE', '1s,100000000d'],
  ['DELIVERY_RETENTION', '1000000d'],
  ['EXHAUSTED_RETENTION', '99999999999d'],
  ['IDEMPOTENCY_RETENTION', '36501d'],
  ['WEBHOOK_RETRY_SCHEDULE', '60s,,5m'],
  ['WEBHOOK_RETRY_SCHEDULE', ','],
  ['HEALTH_PORT', NEEDED.GRPC_PORT],
] as const)('%s=%s is refused', (name, text) => expect(() => readSetting(name, text)).toThrow(`${name}: `))

test('the shortest and longest times, and spaces in a schedule, are accepted', () => {
  expect(readSetting('WEBHOOK_TIMEOUT', '100ms')).toBe(100)
  expect(readSetting('WEBHOOK_TIMEOUT', '1h')).toBe(3_600_000)
  expect(readSetting('EXHAUSTED_RETENTION', '36500d')).toBe(36_500 * 86_400_000)
  expect(readSetting('WEBHOOK_RETRY_SCHEDULE', '0s, 5m')).toEqual([0, 300_000])
})
