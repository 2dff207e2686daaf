import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { type HeadersLike, verify, verifyStandard } from './index'
import { decodeBody, listHeaders, vectors } from './vectors.fixture'

const lead = vectors[0]!
const body = decodeBody(lead)
const headers = listHeaders(lead)
const now = new Date(lead.now * 1000)
const pairs = Object.entries(headers)
const without = (name: string) => Object.fromEntries(pairs.filter(([key]) => key !== name))

const forms: [string, HeadersLike][] = [
  ['a Headers', new Headers(headers)],
  ['an object with names in lower case', Object.fromEntries(pairs.map(([k, v]) => [k.toLowerCase(), v]))],
  ['an object with names in upper case', Object.fromEntries(pairs.map(([k, v]) => [k.toUpperCase(), v]))],
  ['an object with lists and gaps', { ...Object.fromEntries(pairs.map(([k, v]) => [k, [v]])), a: undefined }],
  ['pairs', pairs],
  ['a flat list', pairs.flat()],
]
it.each(forms)('reads headers from %s', async (_, given) => {
  expect(verify(body, given, lead.secret)).toMatchObject({ ok: true })
  expect(verifyStandard(body, given, lead.secret, { now })).toMatchObject({ ok: true, id: lead.id })
  expect(verify(body, given, 'another-secret')).toMatchObject({ ok: false, code: 'bad_signature' })
})

it.each<[string, HeadersLike]>([
  ['a Headers', new Headers()],
  ['an object', {}],
  ['a list', []],
])('reports a missing header in %s', async (_, given) => {
  const missing = { ok: false, code: 'missing_header' }
  expect(verify(body, given, lead.secret)).toMatchObject({ ...missing, header: 'x-service-signature' })
  expect(verifyStandard(body, given, lead.secret)).toMatchObject({ ...missing, header: 'webhook-id' })
})

it.each([
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
])('names %s when it is missing', async (name) => {
  const result = verifyStandard(body, without(name), lead.secret, { now })
  expect(result).toEqual({ ok: false, code: 'missing_header', header: name, message: expect.any(String) })
})

it('refuses a repeated header, even if one of its values is valid', () => {
  const twice = [...pairs, ['x-service-signature', '0'.repeat(40)] as const]
  expect(verify(body, twice, lead.secret)).toMatchObject({ code: 'bad_signature' })
})

it('accepts bytes of every type and returns the payload', async () => {
  const { buffer: whole } = new Uint8Array(body)
  for (const form of [body, new Uint8Array(body), whole, body.toString()])
    expect(verify(form, headers, lead.secret)).toEqual({ ok: true, payload: JSON.parse(body.toString()) })
  expect(verifyStandard(body, headers, lead.secret, { now })).toEqual({
    ok: true,
    payload: JSON.parse(body.toString()),
    id: lead.id,
    sentAt: now,
  })
})

it('reads only the bytes of a view of a larger buffer', () => {
  const larger = Buffer.concat([Buffer.from('before'), body, Buffer.from('after')])
  expect(verify(larger.subarray(6, 6 + body.length), headers, lead.secret)).toMatchObject({ ok: true })
})

it('throws for a parsed body', async () => {
  const parsed = JSON.parse(body.toString())
  expect(() => verify(parsed, headers, lead.secret)).toThrow(/raw body must be bytes/)
  expect(() => verifyStandard(parsed, headers, lead.secret, { now })).toThrow(TypeError)
})

it.each([
  { secret: '' },
  { secret: [] },
  { secret: ['a-secret', ''] },
  { secret: undefined },
])('throws without a secret (%j), because anyone could sign with an empty one', async (secret) => {
  const none = secret as unknown as string
  expect(() => verify(body, headers, none)).toThrow('secret is missing')
  expect(() => verifyStandard(body, headers, none, { now })).toThrow('secret is missing')
})

it('accepts several secrets during a rotation', async () => {
  const secrets = ['the-next-secret', lead.secret]
  expect(verify(body, headers, secrets)).toMatchObject({ ok: true })
  expect(verifyStandard(body, headers, secrets, { now })).toMatchObject({ ok: true })
  expect(verify(body, headers, ['the-next-secret', 'one-more'])).toMatchObject({ code: 'bad_signature' })
})

it('never reveals the expected signature', async () => {
  const forged = { ...headers, 'X-SERVICE-Signature': '0'.repeat(40), 'webhook-signature': 'v1,AAAA' }
  const said = JSON.stringify([
    verify(body, forged, lead.secret),
    verifyStandard(body, forged, lead.secret, { now }),
  ])
  for (const hidden of [lead.secret, lead.service_signature!, lead.standard_signature!])
    expect(said).not.toContain(hidden)
})

it('accepts another tolerance, and throws for an invalid clock', async () => {
  const later = (seconds: number) => ({ now: new Date((lead.now + seconds) * 1000), toleranceSeconds: 10 })
  expect(verifyStandard(body, headers, lead.secret, later(10))).toMatchObject({ ok: true })
  expect(verifyStandard(body, headers, lead.secret, later(11))).toMatchObject({ code: 'too_old' })
  expect(verifyStandard(body, headers, lead.secret, later(-11))).toMatchObject({ code: 'too_new' })
  const broken = { now: new Date(Number.NaN) }
  expect(() => verifyStandard(body, headers, lead.secret, broken)).toThrow(TypeError)
})

it('uses the clock of the machine by default', async () => {
  expect(verifyStandard(body, headers, lead.secret)).toMatchObject({ ok: false, code: 'too_old' })
})

it('verifies what a server of Node received, by headers and by rawHeaders', async () => {
  const server = createServer(async (request, response) => {
    const raw = await buffer(request)
    const results = [request.headers, request.rawHeaders, request.headersDistinct].map(
      (given) => verify(raw, given, lead.secret).ok,
    )
    response.end(JSON.stringify(results))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  try {
    const { port } = server.address() as AddressInfo
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers })
    expect(await response.json()).toEqual([true, true, true])
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
})
