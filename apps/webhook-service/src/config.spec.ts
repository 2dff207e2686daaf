import { readWebhookConfig } from './config'

const NEEDED = {
  ...{ HEALTH_PORT: '1', GRPC_PORT: '2', DATABASE_URL: 'postgres://x', NATS_URL: 'nats://u:p@x' },
  ...{ SMTP_URL: 'file:///tmp/mail', SMTP_FROM: 'leads@example.com', SERVICE_AUTH: 'none' },
  ENCRYPTION_KEYS: Buffer.alloc(32).toString('base64'),
}
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
