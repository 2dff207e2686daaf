import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type RunningGateway, startGateway } from '../gateway.fixture'

const GUIDES = readdirSync(join(__dirname, '../../../../docs/guides')).map((file) => file.replace('.md', ''))

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const get = (url: string, headers: Record<string, string> = {}) => gateway.app.inject({ url, headers })

const PAGES = ['/', '/problems', '/docs', ...GUIDES.map((name) => `/docs/guides/${name}`)]

/** Returns the URLs that a page refers to, resolved as a browser resolves them. */
const namedBy = (page: string, body: string) =>
  [...body.matchAll(/(?:src|href)="([^"#]+)/g)].map(
    ([, address]) => new URL(address!, `http://docs.test${page}`),
  )

test.each(PAGES)('%s is there without a token, and so is all that it names', async (url) => {
  const page = await get(url)
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const named = namedBy(url, page.body)
  expect(named.length).toBeGreaterThan(5)
  for (const { host, pathname } of named) {
    // Skips /readyz, which fails because no service runs behind this gateway.
    if (host !== 'docs.test' || pathname === '/readyz') continue
    expect([pathname, (await get(pathname)).statusCode]).toEqual([pathname, 200])
  }
})

test.each(PAGES)('%s has a strict policy, no script of its own, and is asked for again', async (url) => {
  const page = await get(url)
  const policy = page.headers['content-security-policy']
  expect(policy).toContain("default-src 'none'; script-src 'self';")
  expect(policy).toContain("frame-ancestors 'none'")
  // The page of the explorer needs inline styles, and its script sends requests to the API.
  if (url === '/docs') expect(policy).toContain("connect-src 'self';")
  else expect(policy).not.toMatch(/unsafe|connect-src/)
  expect(policy).not.toContain('unsafe-eval')
  expect(page.body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
  expect(page.body).not.toMatch(/<(script|link|img)[^>]*https?:/)
  expect(page.headers).toMatchObject({ 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' })
  const again = await get(url, { 'if-none-match': String(page.headers['etag']) })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

test('scripts and styles have a hash in their name, are kept for ever, and come compressed', async () => {
  const page = await get('/docs')
  const parts = namedBy('/docs', page.body).filter(({ pathname }) => /\.(js|css)$/.test(pathname))
  expect(parts).toHaveLength(3)
  for (const { pathname } of parts) {
    expect(pathname).toMatch(/^\/docs\/[a-z-]+-[0-9a-f]{16}\.(js|css)$/)
    const part = await get(pathname, { 'accept-encoding': 'gzip' })
    expect(part.headers).toMatchObject({
      'cache-control': 'public, max-age=31536000, immutable',
      'content-encoding': 'gzip',
    })
    expect(gunzipSync(part.rawPayload).equals((await get(pathname)).rawPayload)).toBe(true)
  }
})

test('verifying is shown in seven languages, Standard Webhooks first, with vectors to try', async () => {
  const page = await get('/docs/guides/receiving-webhooks')
  const blocks = [...page.body.matchAll(/<code class="language-(\w+)">(.*?)<\/code>/gs)]
  const verifying = blocks.filter(([, , code]) => /verify.?service|VerifyWebhook/i.test(code!))
  const languages = verifying.map(([, language]) => language)
  expect(languages).toEqual(['js', 'php', 'python', 'go', 'ruby', 'csharp', 'java'])
  for (const [, language, code] of verifying)
    expect([language, code!.indexOf('webhook-signature') < code!.indexOf('X-SERVICE-Signature')]).toEqual([
      language,
      true,
    ])
  const vectors = namedBy('/docs/guides/receiving-webhooks', page.body).find(
    ({ pathname }) => pathname.endsWith('.json') && pathname.includes('vectors'),
  )
  const answer = await get(vectors!.pathname)
  expect([answer.headers['content-type'], answer.json().vectors.length > 10]).toEqual([
    'application/json; charset=utf-8',
    true,
  ])
  expect((await get('/docs/guides/webhooks')).body).toContain('webhook-signature')
})

test.each([
  ['//', '../'],
  ['/problems/?from=mail', '../problems'],
  ['/docs/', '../docs'],
  ['/docs/guides/first-lead/', '../first-lead'],
])('a slash at the end of %s leads to the page itself', async (url, location) => {
  const answer = await get(url)
  expect([answer.statusCode, answer.headers.location]).toEqual([308, location])
})

test.each([
  '/docs/index.html',
  '/docs/guides',
  '/docs/guides/nothing',
  '/docs/guides/..%2findex',
  '/docs/..%2f..%2fpackage.json',
  '/docs/constructor',
])('%s is no part of it', async (url) => expect((await get(url)).statusCode).toBe(404))

test.each(['/', '/docs'])('%s is only read', async (url) => {
  expect((await gateway.app.inject({ method: 'POST', url })).statusCode).toBe(405)
  expect((await gateway.app.inject({ method: 'HEAD', url })).statusCode).toBe(200)
})

test('a browser that asks for an icon gets it', async () => {
  const icon = await get('/favicon.ico')
  expect([icon.statusCode, icon.headers['content-type']]).toEqual([200, 'image/svg+xml'])
})
