import { readWebhookConfig } from './config'

const NEEDED = {
  ...{ HEALTH_PORT: '1', GRPC_PORT: '2', DATABASE_URL: 'postgres://x', NATS_URL: 'nats://u:p@x' },
  ...{ SMTP_URL: 'file:///tmp/mail', SMTP_FROM: 'leads@example.com', SERVICE_AUTH: 'none' },
  ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64'),
}
const proxyOf = (text: string) => readWebhookConfig({ ...NEEDED, WEBHOOK_PROXY: text }).WEBHOOK_PROXY
const read = (text?: string) =>
  readWebhookConfig({ ...NEEDED, ...(text !== undefined && { WEBHOOK_DISABLE_AFTER: text }) })
    .WEBHOOK_DISABLE_AFTER

test.each([
  [undefined, Number.POSITIVE_INFINITY],
  ['off', Number.POSITIVE_INFINITY],
  ['5d', 432_000_000],
  ['432000', 432_000_000],
])('WEBHOOK_DISABLE_AFTER=%s', (text, expected) => expect(read(text)).toBe(expected))

test.each(['soon', '-1', '5 days'])('WEBHOOK_DISABLE_AFTER=%s is refused', (text) =>
  expect(() => read(text)).toThrow('WEBHOOK_DISABLE_AFTER'))

test.each([
  ['http://proxy.internal:3128', 'http://proxy.internal:3128/'],
  ['https://user:p%40ss@[fd00::1]:443/', 'https://user:p%40ss@[fd00::1]/'],
])('WEBHOOK_PROXY=%s', (text, expected) => expect(proxyOf(text)?.href).toBe(expected))

test.each([
  ...[
    'proxy.internal:3128',
    'socks5://s3cret@proxy:1080',
    'http://u:s3cret@proxy/path',
    'http://u:s3cret@proxy?a',
  ],
  ...['http://u:s3cret%zz@proxy', 'http://u:s3cret@proxy:99999', 'http://proxy:0'],
])('WEBHOOK_PROXY=%s is refused, and not repeated', (text) =>
  expect(() => proxyOf(text)).toThrow(
    /^WEBHOOK_PROXY: is no http:\/\/\[user:password@\]host\[:port\] or https:\/\/ URL$/,
  ))
