import { readdir } from 'node:fs/promises'
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { eventually, type ObjectStoreDirectory, objectStoreDirectory } from '@leadwire/test-kit'
import { multipartBody, type Part } from '../../support/client'
import { PNG, SAMPLES } from '../../support/samples'
import { type Stage, startStage, type Tenant } from '../../support/stage'

const MAX_BYTES = 10_485_760

type Attachment = { id: number; url: string; [field: string]: unknown }

let store: ObjectStoreDirectory
let stage: Stage
let tenant: Tenant
let path: string
beforeAll(async () => {
  store = await objectStoreDirectory()
  stage = await startStage({ store: { STORE_URL: store.url } })
  tenant = await stage.newTenant()
  path = `/leads/${(await tenant.createLead()).reference}/attachments`
})
afterAll(async () => {
  await stage.stop()
  await store.remove()
})

const form = (value: Buffer | string, fileName: string, name = 'A file'): Part[] => [
  { name: 'name', value: name },
  { name: 'file', value, fileName },
]

const attach = (multipart: Part[]) => tenant.client.request<{ data: Attachment }>('POST', path, { multipart })

/** Lists all files in the folder of the store, including incomplete files. */
const stored = async () => {
  const entries = await readdir(store.path, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
}

/** Returns the resident memory of a service from its metrics. */
const residentBytes = async (name: string) => {
  const { health } = stage.system.services.find((service) => service.name === name)!
  const metrics = await tenant.client.request('GET', `${health}/metrics`, { token: '' })
  return Number(/^process_resident_memory_bytes\S* (\S+)$/m.exec(metrics.text)![1])
}

/** Fails if `work` leaves a file in the store. */
const leavesNothing = async (work: () => Promise<void>) => {
  const before = (await stored()).sort()
  await work()
  await eventually(async () => expect((await stored()).sort()).toEqual(before))
}

/** Sends an upload with these headers and bytes. */
const rawUpload = (headers: Record<string, string | number>, body: Buffer) =>
  new Promise<{ status: number; body: string; headers: IncomingHttpHeaders }>((resolve, reject) => {
    const outgoing = httpRequest(`${stage.system.baseUrl}${path}`, {
      method: 'POST',
      headers: {
        ...headers,
        authorization: `Bearer ${tenant.token}`,
        'content-type': 'multipart/form-data; boundary=b',
      },
    })
    outgoing.on('error', reject)
    outgoing.on('response', (response) => {
      const { statusCode: status = 0 } = response
      text(response).then((body) => resolve({ status, body, headers: response.headers }), reject)
    })
    outgoing.end(body)
  })

describe.each(SAMPLES)('a .$extension file', ({ extension, type, bytes }) => {
  test('is attached, and is downloaded byte for byte with headers that prevent its execution', async () => {
    const before = (await stored()).length
    const answer = await attach(form(bytes, `plan.${extension}`))
    expect([answer.status, answer.text]).toEqual([200, expect.any(String)])
    expect((await stored()).length).toBe(before + 1)
    const { data } = answer.json
    expect(data).toMatchObject({
      name: 'A file',
      file_name: `plan.${extension}`,
      file_size: bytes.length,
      content_type: expect.stringMatching(
        new RegExp(`^${type.replace(/[+.]/g, '\\$&')}(; ?charset=utf-8)?$`),
      ),
      alt: null,
      public: 0,
      processed: 1,
      url: `${stage.system.baseUrl}${path}/${data.id}`,
    })
    const get = await tenant.client.request('GET', data.url)
    expect(get.status).toBe(200)
    expect(get.bytes.equals(bytes)).toBe(true)
    expect(get.headers).toMatchObject({
      'content-length': String(bytes.length),
      'content-type': expect.stringMatching(
        new RegExp(`^${type.replace(/[+.]/g, '\\$&')}(; ?charset=utf-8)?$`),
      ),
      'content-disposition': `attachment; filename="plan.${extension}"`,
      'content-security-policy': expect.stringMatching(/sandbox(?!.*allow-scripts)/),
      'x-content-type-options': 'nosniff',
    })
    const head = await tenant.client.request('HEAD', data.url)
    expect([head.status, head.bytes.length]).toEqual([200, 0])
    for (const name of ['content-length', 'content-type', 'content-disposition', 'content-security-policy'])
      expect(head.headers[name]).toEqual(get.headers[name])
  })

  test('is refused under an extension of another format', async () => {
    await leavesNothing(async () => {
      const others = SAMPLES.map((sample) => sample.extension).filter((other) => other !== extension)
      for (const other of [...others, 'exe', 'html', '']) {
        // These samples are valid UTF-8, so they are also valid text files.
        if (other === 'txt' && ['svg', 'pdf'].includes(extension)) continue
        const answer = await tenant.client.request<{ errors: object }>('POST', path, {
          multipart: form(bytes, other ? `plan.${other}` : 'plan'),
        })
        expect([other, answer.status, Object.keys(answer.json.errors ?? {})]).toEqual([other, 422, ['file']])
      }
    })
  })
})

describe('a refused upload leaves no file', () => {
  test.each<[string, Part[], string[]]>([
    ['no file', form(PNG, 'a.png').slice(0, 1), ['file']],
    ['no name', form(PNG, 'a.png').slice(1), ['name']],
    ['an empty name', form(PNG, 'a.png', ' '), ['name']],
    ['an empty file', form('', 'a.txt'), ['file']],
    [
      'the file as a text field',
      [
        { name: 'name', value: 'a' },
        { name: 'file', value: 'b' },
      ],
      ['file'],
    ],
    [
      'no name, and a file of another type',
      [{ name: 'file', value: 'MZ\0', fileName: 'a.exe' }],
      ['file', 'name'],
    ],
    ['an HTML page', form('<!doctype html><script>alert(1)</script>', 'a.html'), ['file']],
    ['a program with the extension png', form('MZ\x90\0\x03', 'a.png'), ['file']],
    ['binary data with the extension txt', form(Buffer.from([0x61, 0, 0xff]), 'a.txt'), ['file']],
    [
      'an archive with the extension docx',
      form(Buffer.from('PK\x05\x06'.padEnd(22, '\0')), 'a.docx'),
      ['file'],
    ],
    ['a name too long', form(PNG, 'a.png', 'x'.repeat(256)), ['name']],
  ])('%s', async (_what, multipart, fields) => {
    await leavesNothing(async () => {
      const answer = await tenant.client.request<{ errors: object }>('POST', path, { multipart })
      expect([answer.status, Object.keys(answer.json.errors).sort()]).toEqual([422, fields])
    })
  })

  test('an interrupted upload', async () => {
    await leavesNothing(async () => {
      const body = multipartBody(form(Buffer.alloc(200_000, 'a'), 'a.txt'), 'b').subarray(0, 150_000)
      const before = (await stored()).length
      await expect(
        new Promise((resolve, reject) => {
          const outgoing = httpRequest(`${stage.system.baseUrl}${path}`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${tenant.token}`,
              'content-type': 'multipart/form-data; boundary=b',
              'content-length': 300_000,
            },
          })
          outgoing.on('error', reject)
          outgoing.on('response', resolve)
          outgoing.write(body)
          // Breaks off when a part of the file has reached the store.
          eventually(async () => expect((await stored()).length).toBeGreaterThan(before)).then(
            () => outgoing.destroy(new Error('broken off')),
            reject,
          )
        }),
      ).rejects.toThrow('broken off')
    })
  })
})

test('a file may come before its name', async () => {
  const answer = await attach(form(PNG, 'a.png').reverse())
  expect(answer.json.data).toMatchObject({ name: 'A file', file_name: 'a.png' })
})

test('both extensions of JPEG are accepted, in upper and lower case', async () => {
  const { bytes } = SAMPLES[0]!
  for (const name of ['a.jpg', 'a.jpeg', 'A.JPG', 'a.b.JpEg'])
    expect((await attach(form(bytes, name))).status).toBe(200)
})

test.each([
  ['/etc/plan.png', 'plan.png', 'attachment; filename="plan.png"'],
  ['..\\..\\plan.png', 'plan.png', 'attachment; filename="plan.png"'],
  [
    'Grundriß – 平面図.png',
    'Grundriß – 平面図.png',
    /^attachment; filename="[\x20-\x7e]+\.png"; filename\*=UTF-8''Grundri%C3%9F%20%E2%80%93%20%E5%B9%B3%E9%9D%A2%E5%9B%B3\.png$/,
  ],
])('a file name %s is stored without folders', async (fileName, base, disposition) => {
  const { data } = (await attach(form(PNG, fileName))).json
  expect(data['file_name']).toBe(base)
  const get = await tenant.client.request('GET', data.url)
  expect(get.headers['content-disposition']).toEqual(
    typeof disposition === 'string' ? disposition : expect.stringMatching(disposition),
  )
})

describe('10mb means 10,485,760 bytes', () => {
  const upload = (size: number) => multipartBody(form(Buffer.alloc(size, 'a'), 'a.txt'), 'b')

  test('exactly 10mb are accepted', async () => {
    const body = upload(MAX_BYTES)
    for (const headers of [{ 'content-length': body.length }, { 'transfer-encoding': 'chunked' }]) {
      const answer = await rawUpload(headers as Record<string, string | number>, body)
      expect(answer.status).toBe(200)
      expect(JSON.parse(answer.body).data).toMatchObject({ file_size: MAX_BYTES })
    }
  })

  test('one more byte gets 413, with and without a Content-Length, and leaves no file', async () => {
    const body = upload(MAX_BYTES + 1)
    await leavesNothing(async () => {
      for (const headers of [{ 'content-length': body.length }, { 'transfer-encoding': 'chunked' }]) {
        const answer = await rawUpload(headers as Record<string, string | number>, body)
        expect([answer.status, answer.headers['content-type']]).toEqual([
          413,
          expect.stringMatching(/^application\/problem\+json/),
        ])
      }
    })
  })

  test('an image gets 413, too, and an attachment whose file comes first', async () => {
    const bytes = Buffer.concat([PNG, Buffer.alloc(MAX_BYTES + 1 - PNG.length)])
    await leavesNothing(async () => {
      const attached = await attach(form(bytes, 'a.png').reverse())
      expect(attached.status).toBe(413)
      const image = await tenant.client.request('POST', '/manage/images', {
        multipart: form(bytes, 'a.png').slice(1),
      })
      expect(image.status).toBe(413)
    })
  })

  test('concurrent uploads do not accumulate in memory', async () => {
    const body = upload(MAX_BYTES)
    const names = ['gateway', 'files-service']
    const before = await Promise.all(names.map(residentBytes))
    const peaks = [...before]
    let running = true
    const watch = async () => {
      while (running) {
        const now = await Promise.all(names.map(residentBytes))
        for (const [i, bytes] of now.entries()) peaks[i] = Math.max(peaks[i]!, bytes)
      }
    }
    const watching = watch()
    const count = 32
    const answers = await Promise.all(
      Array.from({ length: count }, () => rawUpload({ 'content-length': body.length }, body)),
    )
    running = false
    await watching
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const growth = peaks.map((peak, i) => peak - before[i]!)
    console.log(
      `${count} uploads of 10 MiB: ${names.map((name, i) => `${name} +${growth[i]! >> 20} MiB`).join(', ')}`,
    )
    for (const bytes of growth) expect(bytes).toBeLessThan(0.4 * count * MAX_BYTES)
  })
})
