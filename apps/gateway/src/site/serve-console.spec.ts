import { gunzipSync } from 'node:zlib'
import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const get = (url: string, headers: Record<string, string> = {}) => gateway.app.inject({ url, headers })

/** Returns the URLs that a page refers to, resolved as a browser resolves them. */
const namedBy = (page: string, body: string) =>
  [...body.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, address]) => new URL(address!, `http://console.test${page}`).pathname,
  )

const PAGES = ['/console', '/console/endpoints', '/console/endpoints/3', '/console/endpoints/3/edit?x=a.b']

test.each(PAGES)('%s is the page, without a token, and names parts that are there', async (url) => {
  const page = await get(url)
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const parts = namedBy(url, page.body)
  const types = new Set(parts.map((path) => path.replace(/^.*\./, '')))
  expect([...types].sort()).toEqual(['css', 'js', 'svg'])
  for (const path of parts) expect([path, (await get(path)).statusCode]).toEqual([path, 200])
})

test('the page and its parts have a strict policy; the page is asked for again, the parts are kept for ever', async () => {
  const page = await get('/console')
  const answers = [page, ...(await Promise.all(namedBy('/console', page.body).map((path) => get(path))))]
  const [pageCaching, ...partsCaching] = answers.map(({ headers }) => headers['cache-control'])
  expect(pageCaching).toBe('no-cache')
  expect(new Set(partsCaching)).toEqual(new Set(['public, max-age=31536000, immutable']))
  for (const { headers } of answers) {
    const policy = headers['content-security-policy'] as string
    expect(policy).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;/,
    )
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' })
  }
})

test('a part is compressed for a client that accepts that', async () => {
  const path = namedBy('/console', (await get('/console')).body).find((name) => name.endsWith('.js'))!
  const gzipped = await get(path, { 'accept-encoding': 'br;q=1, gzip' })
  expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(gunzipSync(gzipped.rawPayload).equals((await get(path)).rawPayload)).toBe(true)
})

test('the page has no inline scripts or styles', async () => {
  const { body } = await get('/console')
  expect(body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/)
})

test.each([
  ['/console/', '../console'],
  ['/console/endpoints/3/?a=b', '../3'],
])('a slash at the end of %s leads to the page itself, below whatever path a proxy has', async (url, location) => {
  const answer = await get(url)
  expect([answer.statusCode, answer.headers.location]).toEqual([308, location])
})

test.each([
  '/console/package.json',
  '/console/..%2fpackage.json',
  '/console/%2e%2e/package.json',
  '/console/assets/..%2findex.html',
  '/console/assets/constructor',
])('%s is no part of it', async (url) => expect((await get(url)).statusCode).toBe(404))

test('it is only read', async () => {
  for (const url of ['/console', '/console/endpoints']) {
    expect((await gateway.app.inject({ method: 'POST', url })).statusCode).toBe(405)
    expect((await gateway.app.inject({ method: 'HEAD', url })).statusCode).toBe(200)
  }
})
