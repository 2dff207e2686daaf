import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { type RunningGateway, startGateway } from '../gateway.fixture'

let gateway: RunningGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const get = (url: string, headers: Record<string, string> = {}) => gateway.app.inject({ url, headers })

test('the page and every part it names are there, without a token', async () => {
  const page = await get('/console')
  expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const names = [...page.body.matchAll(/(?:src|href)="(console\/[^"]+)"/g)].map((match) => match[1]!)
  expect(new Set(names).size).toBeGreaterThan(5)
  for (const name of names) expect([name, (await get(`/${name}`)).statusCode]).toEqual([name, 200])
})

test('every module is named in the page, so that none waits for another to be read', async () => {
  const page = await get('/console')
  const modules = readdirSync(join(__dirname, '../../console-assets')).filter((name) => name.endsWith('.js'))
  for (const name of modules) expect(page.body).toContain(`"console/${name}"`)
})

test.each([
  '/console',
  '/console/console.js',
  '/console/console.css',
  '/console/icon.svg',
])('%s has a strict policy, and is asked for again only when it changed', async (url) => {
  const answer = await get(url)
  const policy = answer.headers['content-security-policy'] as string
  expect(policy).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;/,
  )
  expect(policy).toContain("frame-ancestors 'none'")
  expect(policy).not.toContain('unsafe')
  expect(answer.headers).toMatchObject({
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  const again = await get(url, { 'if-none-match': String(answer.headers.etag) })
  expect([again.statusCode, again.body]).toEqual([304, ''])
})

test('it is compressed for a client that accepts that', async () => {
  const plain = await get('/console/console.css')
  const gzipped = await get('/console/console.css', { 'accept-encoding': 'br;q=1, gzip' })
  expect(gzipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(gunzipSync(gzipped.rawPayload).equals(plain.rawPayload)).toBe(true)
  const refused = await get('/console/console.css', { 'accept-encoding': 'gzip;q=0, identity' })
  expect(refused.headers).not.toHaveProperty('content-encoding')
})

test('the page has no inline scripts or styles', async () => {
  const { body } = await get('/console')
  expect(body).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=|https?:/)
})

test('a slash at the end leads to the page itself, below whatever path a proxy has', async () => {
  const answer = await get('/console/')
  expect([answer.statusCode, answer.headers.location]).toEqual([308, '../console'])
})

test.each([
  '/console/package.json',
  '/console/..%2fpackage.json',
  '/console/%2e%2e/package.json',
  '/console/constructor',
])('%s is no part of it', async (url) => expect((await get(url)).statusCode).toBe(404))

test('it is only read', async () => {
  expect((await gateway.app.inject({ method: 'POST', url: '/console' })).statusCode).toBe(405)
  expect((await gateway.app.inject({ method: 'HEAD', url: '/console' })).statusCode).toBe(200)
})
