import { webhookHeaders } from './webhook-headers'

const signaturesOf = (secret: string, body: string, eventId = 'msg_1') => {
  const event = { eventId, accountKey: 'key', sequence: 1, leadVersion: 1, traceparent: null }
  const endpoint = { url: 'https://a.example/', accountId: 1, sealedSecrets: null }
  const signing = { secrets: { secret, oldSecrets: [] }, startedAt: new Date(1_614_265_330_000) }
  const headers = webhookHeaders({ ...event, ...endpoint, body: Buffer.from(body) }, signing)
  return { service: headers['X-SERVICE-Signature'], standard: headers['webhook-signature'] }
}

// The first is the vector of the Standard Webhooks libraries' own tests; all were made again with openssl, as
// `openssl dgst -sha1 -hmac SECRET` and `openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary | base64`.
test('the Standard Webhooks signature is keyed with the bytes that the secret writes in base64', () =>
  expect(
    signaturesOf(
      'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
      '{"test": 2432232314}',
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
    ),
  ).toMatchObject({ standard: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=' }))

test('a secret of another form is its own key, as UTF-8', () =>
  expect(signaturesOf('my own sécret', '{"a":1}')).toEqual({
    standard: 'v1,r24lUCRTujKh4hONT+TcHev+Izh7aFxdmhcRGsrvNTE=',
    service: 'b3314059eb9eef83be021001861d0218ccdf826c',
  }))

test('the key of the X-SERVICE-Signature is the secret as it is shown, prefix included', () =>
  expect(signaturesOf('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', '{"data":{"name":"Zoë"}}')).toMatchObject({
    service: 'e688e63333855995db310213ce1e0635a7b94bcd',
  }))
