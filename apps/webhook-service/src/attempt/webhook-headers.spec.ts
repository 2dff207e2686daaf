import { serviceSignature, standardSignature } from './webhook-headers'

// The first is the vector of the Standard Webhooks libraries' own tests; all were made again with openssl, as
// `openssl dgst -sha1 -hmac SECRET` and `openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary | base64`.
test('the Standard Webhooks signature is keyed with the bytes that the secret writes in base64', () => {
  const message = {
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestamp: 1_614_265_330,
    body: Buffer.from('{"test": 2432232314}'),
  }
  expect(standardSignature('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', message)).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test('a secret of another form is its own key, as UTF-8', () => {
  const message = { id: 'msg_1', timestamp: 1_614_265_330, body: Buffer.from('{"a":1}') }
  expect(standardSignature('my own sécret', message)).toBe('v1,r24lUCRTujKh4hONT+TcHev+Izh7aFxdmhcRGsrvNTE=')
  expect(serviceSignature('my own sécret', message.body)).toBe('b3314059eb9eef83be021001861d0218ccdf826c')
})

test('the key of the X-SERVICE-Signature is the secret as it is shown, prefix included', () => {
  expect(
    serviceSignature('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', Buffer.from('{"data":{"name":"Zoë"}}')),
  ).toBe('e688e63333855995db310213ce1e0635a7b94bcd')
})
