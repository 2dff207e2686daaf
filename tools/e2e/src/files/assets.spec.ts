import { joinStage, type SharedStage, type Tenant } from '../stage.fixture'
import { SAMPLES } from './samples.fixture'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const images = SAMPLES.filter(({ type }) => type.startsWith('image/'))

const upload = async (value: Buffer, extension: string) =>
  (
    await tenant.send<{ url: string }>('POST', '/manage/images', {
      multipart: [{ name: 'file', value, fileName: `a.${extension}` }],
    })
  ).url

const get = (url: string, headers: Record<string, string> = {}, method = 'GET') =>
  tenant.client.request(method, url, { token: '', headers })

test.each(images)('a stored .$extension is for everyone, for ever, and runs nothing', async ({
  extension,
  type,
  bytes,
}) => {
  const url = await upload(bytes, extension)
  const answer = await get(url)
  expect(answer.status).toBe(200)
  expect(answer.bytes.equals(bytes)).toBe(true)
  expect(answer.headers).toMatchObject({
    ...{ 'content-type': type, 'content-length': String(bytes.length), 'x-content-type-options': 'nosniff' },
    'cache-control': expect.stringMatching(/^public, max-age=31536000, immutable$/),
    'content-security-policy': expect.stringMatching(/^sandbox;? ?(?!.*allow)/),
    etag: expect.stringMatching(/^(W\/)?"[^"]+"$/),
  })
  if (extension === 'svg') expect(answer.headers['content-disposition']).toMatch(/^attachment/)

  const head = await get(url, {}, 'HEAD')
  expect([head.status, head.bytes.length]).toEqual([200, 0])
  expect(head.headers['content-length']).toBe(String(bytes.length))
  expect(head.headers['etag']).toBe(answer.headers['etag'])
})

test('who has an image already is told so without its bytes', async () => {
  const url = await upload(images[1]!.bytes, 'png')
  const etag = String((await get(url)).headers['etag'])
  for (const header of [etag, `"other", ${etag}`, '*', `W/${etag}`]) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await get(url, { 'if-none-match': header }, method)
      expect([header, method, answer.status, answer.bytes.length]).toEqual([header, method, 304, 0])
      expect(answer.headers['etag']).toBe(etag)
      expect(answer.headers['cache-control']).toMatch(/immutable/)
    }
  }
  expect((await get(url, { 'if-none-match': '"other"' })).status).toBe(200)
})

test('an image that was never stored is not there, not even for who claims to have it', async () => {
  const url = await upload(images[1]!.bytes, 'png')
  const unknown = url.replace(/[0-9a-f-]{36}/, '0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10')
  expect((await get(unknown)).status).toBe(404)
  for (const etag of ['"0b0b4a3e-6f0a-4f0e-9c53-2f6f5a3f7f10"', '*'])
    expect((await get(unknown, { 'if-none-match': etag })).status).toBe(404)
  for (const path of [
    '/assets/images/..%2f..%2fetc%2fpasswd',
    '/assets/images/',
    '/assets/',
    url.replace('.png', '.svg'),
  ])
    expect((await get(path)).status).toBe(404)
})

test('attachments are no assets', async () => {
  const { reference } = await tenant.createLead()
  await tenant.send('POST', `/leads/${reference}/attachments`, {
    multipart: [
      { name: 'name', value: 'a' },
      { name: 'file', value: images[1]!.bytes, fileName: 'a.png' },
    ],
  })
  const publicUrl = await upload(images[1]!.bytes, 'png')
  expect((await get(publicUrl.replace('/images/', '/attachments/'))).status).toBe(404)
})
