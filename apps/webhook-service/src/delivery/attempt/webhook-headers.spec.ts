import { renderHeaders } from './webhook-headers'

const sign = (secret: string, body: string, eventId = 'msg_1') => {
  const event = { eventId, accountKey: 'key', sequence: 1, leadVersion: 1, traceparent: null }
  const endpoint = { url: 'https://a.example/', accountId: 1, sealedSecrets: null }
  const signing = { secrets: { secret, oldSecrets: [] }, startedAt: new Date(1_614_265_330_000) }
  const headers = renderHeaders({ ...event, ...endpoint, body: Buffer.from(body) }, signing)
  return { service: headers['X-SERVICE-Signature'], standard: headers['webhook-signature'] }
}

// The first vector is from the tests of the Standard Webhooks libraries. All signatures were computed with
// openssl: `openssl dgst -sha1 -hmac SECRET` and
// `openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary | base64`.
test('the key of the Standard Webhooks signature is the decoded base64 of the secret', () =>
  expect(
    sign('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{"test": 2432232314}', 'msg_p5jXN8AQM9LWM0D4loKWxJek'),
  ).toMatchObject({ standard: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' }))

test('base64 without padding gives the same key', () => {
  const padded = sign('whsec_AAECAwQFBgcICQoLDA0ODw==', '{"a":1}').standard
  expect(sign('whsec_AAECAwQFBgcICQoLDA0ODw', '{"a":1}').standard).toBe(padded)
})

test('a secret in another format is the key itself, in UTF-8', () =>
  expect(sign('my own sécret', '{"a":1}')).toEqual({
    standard: 'v1,r24lUCRTujKh4hONT+TcHev+Izh7aFxdmhcRGsrvNTE=',
    service: 'b3314059eb9eef83be021001861d0218ccdf826c',
  }))

test('the key of X-SERVICE-Signature is the whole secret, including its prefix', () =>
  expect(sign('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{"data":{"name":"Zoë"}}')).toMatchObject({
    service: 'e688e63333855995db310213ce1e0635a7b94bcd',
  }))
