import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { RequestOptions } from '../support/client'
import { createLead, OPERATIONS, scheduleAppointment, updateLead } from './bad-input/operations.fixture'
import { expectProblem } from './bad-input/problem.fixture'
import { rawJson, toJson } from './bad-input/raw-json'
import { startWorld, type Traces, type World } from './bad-input/world.fixture'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const JSON_TYPE = { 'content-type': 'application/json' }
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' }
const MEBIBYTE = 1024 * 1024

const post = (options: RequestOptions) => world.client.request('POST', '/leads', options)
const sound = () => createLead.body(world)

/** Renders a valid lead, padded with white space to `bytes` bytes. */
const padded = (bytes: number): string => {
  const json = JSON.stringify(sound())
  return `{${' '.repeat(bytes - Buffer.byteLength(json))}${json.slice(1)}`
}

const chunked = (text: string) =>
  Readable.from([Buffer.from(text.slice(0, 1000)), Buffer.from(text.slice(1000))])

describe('refused bodies', () => {
  let before: Traces
  beforeAll(async () => {
    before = await world.traces()
  })

  describe.each(OPERATIONS)('$name', ({ method, path, body }) => {
    const send = (options: RequestOptions) => world.client.request(method, path(world), options)

    test('broken JSON gets 400', async () => {
      const json = JSON.stringify(body(world))
      const broken: (string | Buffer)[] = [
        json.slice(0, -1),
        json.slice(1),
        json.slice(0, json.length / 2),
        `${json}}`,
        `${json}${json}`,
        `${json}\nx`,
        `${json}\0`,
        `)]}',\n${json}`,
        `/* a comment */${json}`,
        json.replace('{', '{,'),
        json.replaceAll('"', "'"),
        json.replaceAll('"', ''),
        `${json.slice(0, -1)},}`,
        `${json.slice(0, -1)},"x":NaN}`,
        `${json.slice(0, -1)},"x":Infinity}`,
        `${json.slice(0, -1)},"x":undefined}`,
        `${json.slice(0, -1)},"x":01}`,
        `${json.slice(0, -1)},"x":0x1}`,
        `${json.slice(0, -1)},"x":1.}`,
        `${json.slice(0, -1)},"x":"\n"}`,
        `${json.slice(0, -1)},"x":"\0"}`,
        `${json.slice(0, -1)},"x":"\\x41"}`,
        `${json.slice(0, -1)},"x":"\\ud8"}`,
        Buffer.from(json, 'utf16le'),
        Buffer.from(`${json.slice(0, -1)},"x":"é"}`, 'latin1'),
        Buffer.concat([Buffer.from(json), Buffer.from([0xff])]),
        // Invalid UTF-8: an overlong form, half a character, a surrogate, and a number above the last code
        // point.
        ...[
          [0xc0, 0xaf],
          [0xe2, 0x82],
          [0xed, 0xa0, 0x80],
          [0xf4, 0x90, 0x80, 0x80],
        ].map((bytes) =>
          Buffer.concat([Buffer.from(`${json.slice(0, -1)},"x":"`), Buffer.from(bytes), Buffer.from('"}')]),
        ),
        gzipSync(json),
        'name=Ada',
        '[',
        ' ',
        '"',
      ]
      for (const one of broken) {
        const answer = await send({ headers: JSON_TYPE, body: one })
        expect({ status: answer.status, body: one.toString() }).toEqual({ status: 400, body: one.toString() })
        expectProblem(answer, 400)
      }
    })

    test('JSON that is not an object gets 422', async () => {
      for (const one of [
        '[]',
        '[{}]',
        'null',
        'true',
        '0',
        '1e400',
        '"text"',
        '"{}"',
        `${'['.repeat(100_000)}${']'.repeat(100_000)}`,
      ]) {
        expectProblem(await send({ headers: JSON_TYPE, body: one }), 422, [])
      }
    })

    test('another content type gets 415', async () => {
      const types = [
        'text/plain',
        'text/json',
        'application/xml',
        'application/octet-stream',
        'application/jsonp',
        'application/jso',
      ]
      types.push(
        'multipart/form-data; boundary=x',
        'multipart/form-data',
        'json',
        'application',
        '/',
        '*/*',
        ';',
        'x'.repeat(4000),
      )
      for (const type of types) {
        const answer = await send({ headers: { 'content-type': type }, body: JSON.stringify(body(world)) })
        expectProblem(answer, 415)
      }
      expectProblem(await send({ body: JSON.stringify(body(world)) }), 415)
    })

    test('a compressed body gets 415', async () => {
      for (const encoding of ['gzip', 'br', 'deflate', 'x-gzip', 'zstd', 'nonsense']) {
        const headers = { ...JSON_TYPE, 'content-encoding': encoding }
        expectProblem(await send({ headers, body: gzipSync(JSON.stringify(body(world))) }), 415)
      }
    })

    test('one byte more than 1 MiB gets 413, with or without a Content-Length', async () => {
      for (const headers of [JSON_TYPE, FORM_TYPE]) {
        const long = `{${' '.repeat(MEBIBYTE - 1)}}`
        expect(long.length).toBe(MEBIBYTE + 1)
        expectProblem(await send({ headers, body: long }), 413)
        expectProblem(await send({ headers, body: chunked(long) }), 413)
      }
    })
  })

  test('many mebibytes get 413, and the connection can be used again', async () => {
    const long = ' '.repeat(8 * MEBIBYTE)
    for (let round = 0; round < 3; round += 1) {
      expectProblem(await post({ headers: JSON_TYPE, body: long }), 413)
      expectProblem(await post({ headers: JSON_TYPE, body: chunked(long) }), 413)
    }
  })

  test('extremely deep nesting gets 400', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      for (const depth of [513, 5000, 100_000]) {
        const deep = `${open.repeat(depth)}0${close.repeat(depth)}`
        expectProblem(await post({ headers: JSON_TYPE, body: `{"a":${deep}}` }), 400)
      }
    }
  })

  test.each<[string, (path: string[]) => unknown]>([
    ['empty objects', () => rawJson(`[${'{},'.repeat(300_000)}{}]`)],
    ['zeros', () => rawJson(`[${'0,'.repeat(500_000)}0]`)],
    ['nulls', () => rawJson(`[${'null,'.repeat(200_000)}null]`)],
    ['empty lists', () => rawJson(`[${'[],'.repeat(300_000)}[]]`)],
    [
      'one object of 100,000 keys',
      () => rawJson(`{${Array.from({ length: 100_000 }, (_, index) => `"${index}":0`).join()}}`),
    ],
    ['a string of 1,000,000 characters', () => 'x'.repeat(1_000_000)],
    ['a number of 1,000,000 digits', () => rawJson('9'.repeat(1_000_000))],
  ])('a bomb of %s gets 422', async (_what, make) => {
    const visitor = OPERATIONS.find(({ name }) => name === 'a visitor lead')!
    const send = (body: object) =>
      world.client.request('POST', '/manage/leads', { headers: JSON_TYPE, body: toJson(body) })
    const bomb = make([])
    const withField = { ...visitor.body(world), status: bomb }
    expectProblem(await send(withField), 422, ['status'])
    for (const body of [
      { quotes: bomb },
      { quotes: [{ items: bomb }] },
      { quotes: [{ items: [{ options: bomb }] }] },
    ]) {
      expectProblem(await send(body), 422)
    }
  })

  test('the response to an invalid form names every invalid field', async () => {
    const wrong: [string, string[]][] = [
      ['', ['name', 'first_name', 'last_name', 'email', 'phone', 'postcode', 'referrer', 'status']],
      [`${new URLSearchParams({ ...forms(), name: 'a\0b' })}`, ['name']],
      // The form repeats `name`, and the second value is invalid.
      [`${new URLSearchParams(forms())}&name=a%00b`, ['name.1']],
      [`${new URLSearchParams(forms())}&a%00b=c`, ['a\0b']],
      [`${new URLSearchParams(forms())}&name[][x]=a`, ['name']],
      [`${new URLSearchParams(forms())}&name[x]=a`, ['name']],
      [`${new URLSearchParams(forms())}&name[__proto__]=a`, ['name']],
      [`${new URLSearchParams({ ...forms(), status: 'Open', user_id: '1.0' })}`, ['status', 'user_id']],
    ]
    for (const [body, fields] of wrong) expectProblem(await post({ headers: FORM_TYPE, body }), 422, fields)
  })

  test('an excessively large form gets an error of the client', async () => {
    const bombs = [
      Array.from({ length: 10_000 }, (_, index) => `f${index}=0`).join('&'),
      Array.from({ length: 100_000 }, () => 'a=0').join('&'),
      Array.from({ length: 10_000 }, () => 'a[]=0').join('&'),
      Array.from({ length: 10_000 }, (_, index) => `a[${index}]=0`).join('&'),
      `a${'[b]'.repeat(100_000)}=0`,
      `a${'[]'.repeat(100_000)}=0`,
      `a${'[__proto__]'.repeat(50)}=0`,
      `a${'['.repeat(500_000)}=0`,
      '&'.repeat(1_000_000),
      '='.repeat(1_000_000),
      `${'%'.repeat(1_000_000)}=0`,
      `name=${'%00'.repeat(300_000)}`,
      'a[999999999]=0',
      'quotes[999999999][items][999999999][name]=0',
    ]
    for (const body of bombs) {
      const answer = await post({ headers: FORM_TYPE, body })
      expect([400, 413, 422]).toContain(answer.status)
      expectProblem(answer, answer.status)
    }
  })

  test('a form in another encoding than UTF-8 gets 400', async () => {
    const form = `${new URLSearchParams(forms())}`
    expectProblem(await post({ headers: FORM_TYPE, body: Buffer.from(`${form}&name=é`, 'latin1') }), 400)
    for (const value of ['%ff', '%fe%ff', '%c0%af', '%ed%a0%80'])
      expectProblem(await post({ headers: FORM_TYPE, body: `${form}&status=${value}` }), 400)
    // The gateway reads invalid escapes as text, so the value is no known status.
    for (const value of ['%zz', '%', '%u0041'])
      expectProblem(await post({ headers: FORM_TYPE, body: `${form}&status=${value}` }), 422, ['status'])
  })

  test('an invalid Idempotency-Key gets 400', async () => {
    for (const key of ['', ' ', '""', 'é', 'a\tb', '"open', 'a'.repeat(256), `"${'a'.repeat(256)}"`]) {
      const answer = await post({ json: sound(), headers: { 'idempotency-key': key } })
      expect({ key, status: answer.status }).toEqual({ key, status: 400 })
      expectProblem(answer, 400)
    }
    expectProblem(await post({ json: sound(), headers: { 'idempotency-key': ['a', 'b'] } }), 400)
  })

  test('refused bodies store nothing', () => world.expectNothingLeft(before))
})

const forms = () => Object.fromEntries(Object.entries(sound()).map(([name, value]) => [name, String(value)]))

describe('accepted bodies', () => {
  test('exactly 1 MiB, with and without a Content-Length', async () => {
    const exact = padded(MEBIBYTE)
    expect(await post({ headers: JSON_TYPE, body: exact })).toMatchObject({ status: 200 })
    expect(await post({ headers: JSON_TYPE, body: chunked(exact) })).toMatchObject({ status: 200 })
  })

  test.each([
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/json;charset="utf-8"',
    'application/vnd.api+json',
    'application/json ; x=y',
  ])('the content type %s', async (type) => {
    const answer = await post({ headers: { 'content-type': type }, body: JSON.stringify(sound()) })
    expect(answer).toMatchObject({ status: 200 })
  })

  // RFC 8259, 8.1: a parser may ignore a byte order mark.
  test('a byte order mark before the JSON', async () => {
    expect(await post({ headers: JSON_TYPE, body: `\uFEFF${JSON.stringify(sound())}` })).toMatchObject({
      status: 200,
    })
  })

  test('the content encoding identity', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'identity' }
    expect(await post({ headers, body: JSON.stringify(sound()) })).toMatchObject({ status: 200 })
  })

  test('surrounding white space and unknown fields', async () => {
    const body = `\r\n\t ${JSON.stringify({ ...sound(), id: 7, account_id: 1, test: 1, created_at: 'x', customer: { id: 1 } })} \n`
    const answer = await post({ headers: JSON_TYPE, body })
    expect(answer).toMatchObject({ status: 200, json: { data: { test: 0, value: 0 } } })
    expect(answer.text).not.toContain('"id":7,')
  })

  test('a repeated key, whose last value counts', async () => {
    const body = `{"name":"first",${JSON.stringify({ ...sound(), name: 'last' }).slice(1)}`
    expect(await post({ headers: JSON_TYPE, body })).toMatchObject({
      status: 200,
      json: { data: { name: 'last' } },
    })
    for (const form of [
      `name=first&${new URLSearchParams({ ...forms(), name: 'last' })}`,
      `${new URLSearchParams(forms())}&name[]=last`,
    ]) {
      expect(await post({ headers: FORM_TYPE, body: form })).toMatchObject({
        status: 200,
        json: { data: { name: 'last' } },
      })
    }
  })

  test('keys that would pollute a prototype', async () => {
    const traps =
      '"__proto__":{"status":"sold","admin":true},"constructor":{"prototype":{"admin":true}},"hasOwnProperty":1,"toString":null'
    const body = `{${traps},${JSON.stringify(sound()).slice(1)}`
    expect(await post({ headers: JSON_TYPE, body })).toMatchObject({
      status: 200,
      json: { data: { status: 'open' } },
    })
    const form = `__proto__[status]=sold&constructor[prototype][admin]=1&${new URLSearchParams(forms())}`
    expect(await post({ headers: FORM_TYPE, body: form })).toMatchObject({
      status: 200,
      json: { data: { status: 'open' } },
    })
    // Fields that the body sets only through `__proto__` count as missing.
    expectProblem(await post({ headers: JSON_TYPE, body: '{"__proto__":{"name":"x"}}' }), 422, [
      'name',
      'first_name',
      'last_name',
      'email',
      'phone',
      'postcode',
      'referrer',
      'status',
    ])
  })

  test('500 levels of nesting in an unknown field', async () => {
    const body = `{"x":${'['.repeat(500)}${']'.repeat(500)},${JSON.stringify(sound()).slice(1)}`
    expect(await post({ headers: JSON_TYPE, body })).toMatchObject({ status: 200 })
  })

  test('an update without changes', async () => {
    const path = updateLead.path(world)
    const { text } = await world.client.request('GET', path)
    for (const options of [
      {},
      { json: {} },
      { json: { value: null, status: '', user_email: '  ' } },
      { headers: FORM_TYPE, body: '' },
      { headers: JSON_TYPE, body: '' },
    ]) {
      expect(await world.client.request('PATCH', path, options)).toMatchObject({ status: 200, text })
    }
  })

  test.each([
    ['24/12/2026 14:30', '2026-12-24T14:30:00.000000Z'],
    ['01/07/2026 10:00', '2026-07-01T09:00:00.000000Z'],
    ['29/03/2026 00:59', '2026-03-29T00:59:00.000000Z'],
    ['29/03/2026 02:00', '2026-03-29T01:00:00.000000Z'],
    ['25/10/2026 00:59', '2026-10-24T23:59:00.000000Z'],
    ['25/10/2026 01:00', '2026-10-25T00:00:00.000000Z'],
    ['25/10/2026 01:30', '2026-10-25T00:30:00.000000Z'],
    ['25/10/2026 02:00', '2026-10-25T02:00:00.000000Z'],
    ['29/02/2028 23:59', '2028-02-29T23:59:00.000000Z'],
    ['01/01/1900 00:00', '1900-01-01T00:00:00.000000Z'],
    ['31/12/2199 23:59', '2199-12-31T23:59:00.000000Z'],
    ['01/01/1970 00:00', '1969-12-31T23:00:00.000000Z'],
  ])('the date %s, which is %s', async (date, utc) => {
    const json = { ...scheduleAppointment.body(world), date }
    for (const path of ['appointments', 'callbacks']) {
      const answer = await world.client.request('POST', `/leads/${world.reference}/${path}`, { json })
      expect(answer).toMatchObject({ status: 200, json: { data: { date: utc } } })
    }
  })
})

describe('query strings', () => {
  test.each([
    '/leads?page=%ff',
    '/leads?%c0%af=1',
    '/manage/deliveries?lead_reference=%ed%a0%80',
  ])('invalid UTF-8 gets 400 (%s)', async (path) => {
    expectProblem(await world.client.request('GET', path), 400)
  })

  test.each([
    '0',
    '-1',
    '1.5',
    '1e3',
    'x',
    '',
    '%00',
    '%zz',
    '%',
    '9007199254740992',
    '99999999999999999999',
    '0x1',
    '+1',
    '１',
    'NaN',
    '1%00',
  ])('page=%s is page 1', async (page) => {
    for (const path of ['/leads', '/manage/deliveries']) {
      const answer = await world.client.request('GET', `${path}?page=${page}`)
      expect(answer).toMatchObject({ status: 200, json: { current_page: 1 } })
    }
  })

  test.each([
    'page=1&page=2',
    'page[]=2',
    'page[a]=2',
    '%00=1',
    '&&&',
    '=',
    '?',
    'a'.repeat(8000),
    '__proto__=1',
    'constructor[prototype]=1',
    `${'page=1&'.repeat(1000)}`,
  ])('?%s is ignored', async (query) => {
    expect(await world.client.request('GET', `/leads?${query}`)).toMatchObject({
      status: 200,
      json: { current_page: 1 },
    })
  })

  test('the largest possible page number is an empty page', async () => {
    for (const path of ['/leads', '/manage/deliveries']) {
      const answer = await world.client.request('GET', `${path}?page=9007199254740991`)
      expect(answer).toMatchObject({
        status: 200,
        json: { data: [], from: null, to: null, current_page: 9007199254740991, next_page_url: null },
      })
    }
  })

  test.each([
    ['endpoint_id=x', ['endpoint_id']],
    ['endpoint_id=0', ['endpoint_id']],
    ['endpoint_id=-1', ['endpoint_id']],
    ['endpoint_id=1.5', ['endpoint_id']],
    ['endpoint_id=9007199254740992', ['endpoint_id']],
    ['endpoint_id=1&endpoint_id=2', ['endpoint_id']],
    ['endpoint_id=%00', ['endpoint_id']],
    ['status=Pending', ['status']],
    ['status=failed', ['status']],
    ['status=pending%00', ['status']],
    ['status=constructor', ['status']],
    ['lead_reference=x', ['lead_reference']],
    ['lead_reference=0b0b4a3e6f0a4f0e9c532f6f5a3f7f10', ['lead_reference']],
    ['endpoint_id=x&status=y&lead_reference=z&page=0', ['endpoint_id', 'status', 'lead_reference']],
  ])('of deliveries: ?%s gets 422', async (query, fields) => {
    expectProblem(await world.client.request('GET', `/manage/deliveries?${query}`), 422, fields)
  })

  test.each([
    'pending',
    'delivered',
    'exhausted',
    'held',
    'cancelled',
  ])('of deliveries: status=%s is accepted', async (status) => {
    expect(await world.client.request('GET', `/manage/deliveries?status=${status}`)).toMatchObject({
      status: 200,
    })
  })

  test('of deliveries: unknown records and records of another account give an empty page', async () => {
    for (const query of [
      'endpoint_id=999999999',
      'endpoint_id=9007199254740991',
      `lead_reference=${world.other.reference}`,
      'endpoint_id=',
      'status=%20',
    ]) {
      const answer = await world.client.request('GET', `/manage/deliveries?${query}`, {
        token: world.other.token,
      })
      expect(answer).toMatchObject({ status: 200, json: { data: [] } })
    }
  })
})

test('the system works as before', () => world.expectUnharmed())
