import { readdir } from 'node:fs/promises'
import { eventually } from '@leadwire/test-kit'
import { BOUNDARY, field, file, type RawPart, rawMultipart } from './bad-input/multipart-body'
import { expectProblem } from './bad-input/problem.fixture'
import { abandon } from './bad-input/raw-http'
import { startWorld, type Traces, type World } from './bad-input/world.fixture'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.stop())

const TEN_MEBIBYTES = 10_485_760
const type = (boundary: string) => ({ 'content-type': `multipart/form-data; boundary=${boundary}` })

const attachTo = () => `/leads/${world.reference}/attachments`
const send = (
  body: Buffer | string,
  { path = attachTo(), headers = type(BOUNDARY) as Record<string, string> } = {},
) => world.client.request('POST', path, { headers, body })

const name = field('name', 'Plan')
const text = file('Meter under the stairs.')
const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')

describe('refused uploads', () => {
  let before: Traces
  beforeAll(async () => {
    before = await world.traces()
  })

  test.each<[string, RawPart[], string[]]>([
    ['no part at all', [], ['name', 'file']],
    ['no file', [name], ['file']],
    ['no name', [text], ['name']],
    ['an empty name', [field('name', ''), text], ['name']],
    ['a blank name', [field('name', ' \t '), text], ['name']],
    ['a name too long', [field('name', 'a'.repeat(256)), text], ['name']],
    ['a name too long in astral characters', [field('name', '🏠'.repeat(256)), text], ['name']],
    ['a NUL in the name', [field('name', 'a\0b'), text], ['name']],
    ['the name after the file, and wrong', [text, field('name', '')], ['name']],
    ['the file as a text field', [name, field('file', 'Meter')], ['file']],
    ['the file as a text field beside the file', [name, text, field('file', 'Meter')], ['file']],
    ['the name as a file', [file('Plan', '"name.txt"', 'name'), text], ['name']],
    ['two files', [name, text, file('more', '"more.txt"')], ['file']],
    ['a file under another name', [name, file('x', '"a.txt"', 'document')], ['document', 'file']],
    ['a file under another name beside the file', [name, text, file('x', '"a.txt"', 'other')], ['other']],
    ['an empty file', [name, file('')], ['file']],
    ['an empty file name', [name, file('x', '""')], ['file']],
    ['a file name of folders only', [name, file('x', '"../../"')], ['file']],
    ['a file name too long', [name, file('x', `"${'a'.repeat(252)}.txt"`)], ['file']],
    ['a NUL in the file name', [name, file('x', '"a\0.txt"')], ['file']],
    ['an invisible file name', [name, file('x', '"\u200b"')], ['file']],
    ['a file name without an extension', [name, file('x', '"plan"')], ['file']],
    ['an extension of another format', [name, file('x', '"plan.pdf"')], ['file']],
    ['an image with the extension of text', [name, file(PNG)], ['file']],
    ['a program with the extension of text', [name, file('\x7fELF\0\0')], ['file']],
    ['the extension html', [name, file('x', '"page.html"')], ['file']],
    ['text with a NUL', [name, file('a\0b')], ['file']],
    ['text in an unknown encoding', [name, file(Buffer.from('\x81é', 'latin1'))], ['file']],
    ['an HTML page with the extension svg', [name, file('<!doctype html><svg></svg>', '"a.svg"')], ['file']],
    ['a broken zip with the extension docx', [name, file('PK\x03\x04rubbish', '"a.docx"')], ['file']],
    [
      'everything wrong at once',
      [field('name', 'a'.repeat(300)), file('', '"x"'), file('y', '"y.txt"', 'z')],
      ['name', 'file', 'z'],
    ],
  ])('%s: gets 422 with the field', async (_what, parts, fields) => {
    expectProblem(await send(rawMultipart(parts)), 422, fields)
    // Sends the same parts in reverse order.
    if (parts.length === 2) expectProblem(await send(rawMultipart([...parts].reverse())), 422, fields)
  })

  const whole = rawMultipart([name, text])
  test.each<[string, Buffer | string]>([
    ['nothing', ''],
    ['rubbish', 'rubbish'],
    ['a truncated boundary', whole.subarray(0, 5)],
    ['truncated headers', whole.subarray(0, whole.indexOf('filename'))],
    ['a truncated file', whole.subarray(0, whole.indexOf('stairs'))],
    ['no final boundary', rawMultipart([name, text], { end: '' })],
    ['half a final boundary', rawMultipart([name, text], { end: `--${BOUNDARY}-` })],
    ['another boundary', rawMultipart([name, text], { boundary: 'another' })],
    ['headers that never end', `--${BOUNDARY}\r\n${'X-A: b\r\n'.repeat(100_000)}`],
    [
      'a header of 200,000 bytes before Content-Disposition',
      rawMultipart([name, { ...text, headers: [`X-A: ${'a'.repeat(200_000)}`, ...text.headers] }]),
    ],
    ['no line ends', Buffer.from(whole.toString().replaceAll('\r\n', ' '))],
  ])('%s: gets 400 or 422', async (_what, body) => {
    for (const path of [attachTo(), '/manage/images']) {
      const answer = await send(body, { path })
      expect([400, 422]).toContain(answer.status)
      expectProblem(answer, answer.status)
    }
  })

  test.each<[string, RawPart[]]>([
    ['the value of a field', [field('name', 'café'), text]],
    ['the name of a field', [name, field('é', 'x'), text]],
    ['the name of a file', [name, file('x', '"é.txt"')]],
  ])('%s that is not UTF-8 gets 400', async (_what, parts) => {
    expectProblem(await send(Buffer.from(rawMultipart(parts).toString(), 'latin1')), 400)
  })

  test.each<[string, RawPart[]]>([
    ['a part without a name', [{ headers: ['Content-Disposition: form-data'], value: 'x' }, text]],
    [
      'a file part without a name',
      [{ headers: ['Content-Disposition: form-data; filename="a.txt"'], value: 'x' }, text],
    ],
    ['a part without headers', [{ headers: [], value: 'x' }, text]],
    [
      'a part that is an attachment',
      [{ headers: ['Content-Disposition: attachment; filename="a.txt"'], value: 'x' }],
    ],
    ['a field of 5,000 bytes', [field('name', 'a'.repeat(5000)), text]],
    ['a field of 2 MiB', [field('name', 'a'.repeat(2 * 1024 * 1024)), text]],
    ['a field name of 300 bytes', [field('n'.repeat(300), 'x'), text]],
    ['a field name of 60,000 bytes', [field('n'.repeat(60_000), 'x'), text]],
    ['1001 fields', [...Array.from({ length: 1001 }, (_, index) => field(`f${index}`, 'x')), text]],
    ['10,000 parts', Array.from({ length: 10_000 }, (_, index) => field(`f${index}`, 'x'))],
    ['10,000 files', Array.from({ length: 10_000 }, () => text)],
    [
      'a name of half a character',
      [field('name', Buffer.from([0xed, 0xa0, 0x80])), { headers: text.headers, value: '' }],
    ],
    [
      'fields that would pollute a prototype',
      [field('__proto__', 'x'), field('constructor', 'x'), field('toString', 'x')],
    ],
    [
      'an unknown charset',
      [
        {
          headers: [
            'Content-Disposition: form-data; name="name"',
            'Content-Type: text/plain; charset=x-nonsense',
          ],
          value: 'Plan',
        },
      ],
    ],
    [
      'a part inside a part',
      [
        {
          headers: [
            'Content-Disposition: form-data; name="file"',
            'Content-Type: multipart/mixed; boundary=x',
          ],
          value: '--x\r\n\r\ny\r\n--x--',
        },
      ],
    ],
  ])('%s: gets an error of the client', async (_what, parts) => {
    for (const path of [attachTo(), '/manage/images']) {
      const answer = await send(rawMultipart(parts), { path })
      expect([400, 413, 422]).toContain(answer.status)
      expectProblem(answer, answer.status)
    }
  })

  test('another content type gets 415, and a missing boundary gets 400 or 422', async () => {
    for (const path of [attachTo(), '/manage/images']) {
      for (const other of [
        'application/json',
        'application/x-www-form-urlencoded',
        'text/plain',
        'multipart/mixed; boundary=b0undary',
        'multipart',
        'image/png',
      ]) {
        expectProblem(await send(whole, { path, headers: { 'content-type': other } }), 415)
      }
      expectProblem(await send(whole, { path, headers: {} }), 415)
      expectProblem(
        await send(whole, { path, headers: { ...type(BOUNDARY), 'content-encoding': 'gzip' } }),
        415,
      )
      for (const none of [
        'multipart/form-data',
        'multipart/form-data; boundary=',
        'multipart/form-data; charset=utf-8',
        `multipart/form-data; boundary=${'b'.repeat(1000)}`,
      ]) {
        const answer = await send(whole, { path, headers: { 'content-type': none } })
        expect([400, 422]).toContain(answer.status)
        expectProblem(answer, answer.status)
      }
    }
  })

  test('too many parts get 413 with the limit', async () => {
    const fields = Array.from({ length: 1001 }, (_, index) => field(`f${index}`, 'x'))
    const files = Array.from({ length: 11 }, () => text)
    for (const [parts, limit] of [
      [fields, '1000 parts'],
      [files, '10 files'],
    ] as const) {
      const { detail } = expectProblem(await send(rawMultipart(parts)), 413)
      expect(detail).toBe(`The form may not have more than ${limit}.`)
    }
  })

  test('one byte too many gets 413', async () => {
    const large = Buffer.alloc(TEN_MEBIBYTES + 1, 'a')
    for (const parts of [
      [name, file(large)],
      [file(large), name],
      [file(large)],
      [name, file(large, '"a.txt"', 'other')],
    ]) {
      expectProblem(await send(rawMultipart(parts)), 413)
    }
    expectProblem(
      await send(rawMultipart([file(Buffer.concat([PNG, large]), '"a.png"')]), { path: '/manage/images' }),
      413,
    )
  })

  test.each([
    ['text', '"a.txt"', 'x'],
    ['a pdf', '"a.pdf"', '%PDF-1.4'],
    ['an empty file', '"a.png"', ''],
  ])('%s as an image gets 422', async (_what, fileName, bytes) => {
    expectProblem(await send(rawMultipart([file(bytes, fileName)]), { path: '/manage/images' }), 422, [
      'file',
    ])
  })

  test('the response to an invalid image names every invalid field', async () => {
    const long = 'a'.repeat(256)
    const body = rawMultipart([file(PNG, '"a.txt"'), field('alt', long), field('name', 'a\0')])
    expectProblem(await send(body, { path: '/manage/images' }), 422, ['file', 'alt', 'name'])
  })

  test('the files of abandoned uploads are removed', async () => {
    const head = `POST ${attachTo()} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${world.system.token}\r\ncontent-type: multipart/form-data; boundary=${BOUNDARY}\r\n`
    const part = rawMultipart([name, file(Buffer.alloc(200_000, 'a'))])
    const half = part.subarray(0, part.length / 2)
    const { files } = await world.traces()
    // Waits until files-service has the first bytes of the file on its disk.
    const spooled = () =>
      eventually(async () => expect((await world.files()).length).toBeGreaterThan(files.length))
    for (let round = 0; round < 5; round += 1) {
      await abandon(world.baseUrl, [`${head}content-length: ${part.length}\r\n\r\n`, half], spooled)
      await eventually(async () => expect(await world.files()).toEqual(files))
      await abandon(
        world.baseUrl,
        [`${head}transfer-encoding: chunked\r\n\r\n`, `${half.length.toString(16)}\r\n`, half],
        spooled,
      )
      await eventually(async () => expect(await world.files()).toEqual(files))
    }
  })

  test('refused uploads store nothing', () => world.expectNothingLeft(before))
})

describe('accepted uploads', () => {
  test.each<[string, string, string]>([
    ['folders', '"../../../etc/plan.txt"', 'plan.txt'],
    ['folders of Windows', '"C:\\\\docs\\\\plan.txt"', 'plan.txt'],
    ['quotes', '"a \\"plan\\".txt"', 'a "plan".txt'],
    ['UTF-8', '"Grundriß 李.txt"', 'Grundriß 李.txt'],
    ['RFC 5987', "UTF-8''Grundri%C3%9F.txt", 'Grundriß.txt'],
    ['255 characters', `"${'🏠'.repeat(251)}.txt"`, `${'🏠'.repeat(251)}.txt`],
    ['a leading dot', '"..txt"', '..txt'],
    ['no quotes', 'plan.txt', 'plan.txt'],
  ])('a file name with %s is stored without folders for display', async (what, given, shown) => {
    const part = file('x', given)
    if (what === 'RFC 5987') part.headers[0] = part.headers[0]!.replace('filename=', 'filename*=')
    const answer = await send(rawMultipart([name, part]))
    expect(answer).toMatchObject({ status: 200, json: { data: { file_name: shown, file_size: 1 } } })
  })

  test('a file of exactly 10 MiB', async () => {
    const answer = await send(rawMultipart([name, file(Buffer.alloc(TEN_MEBIBYTES, 'a'))]))
    expect(answer).toMatchObject({ status: 200, json: { data: { file_size: TEN_MEBIBYTES } } })
  })

  // RFC 7578, 4.8: other header fields must be ignored.
  test('a part with an unknown header of 200,000 bytes', async () => {
    const headers = [...text.headers, `X-A: ${'a'.repeat(200_000)}`]
    expect(await send(rawMultipart([name, { ...text, headers }]))).toMatchObject({ status: 200 })
  })

  test('a preamble and an epilogue around the parts', async () => {
    const body = Buffer.concat([
      Buffer.from('preamble\r\n'),
      rawMultipart([name, text]),
      Buffer.from('epilogue'),
    ])
    expect(await send(body)).toMatchObject({ status: 200 })
  })

  test('the store contains only their files, under generated names', async () => {
    const files = await world.files()
    for (const one of files) expect(one).toMatch(/^[0-9a-f-]{36}\.(txt|png)$/)
    await expect(readdir('/etc')).resolves.not.toContain('plan.txt')
  })
})

test('the system works as before', () => world.expectUnharmed())
