import { SAMPLES } from '../../support/samples'
import { joinStage, type SharedStage, type Tenant } from '../../support/stage'

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

test('a request with the current ETag of an image gets 304 without its bytes', async () => {
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

test('an unknown image gets 404, even with If-None-Match', async () => {
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
