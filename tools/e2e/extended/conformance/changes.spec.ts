import type { RequestOptions } from '../../support/client'
import { joinStage, LEAD, type Lead, type SharedStage, type Tenant } from '../../support/stage'

let stage: SharedStage
let tenant: Tenant
beforeAll(async () => {
  stage = await joinStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const request = (method: string, path: string, options?: RequestOptions) =>
  tenant.client.request<{ data: Lead }>(method, path, options)

const readEtag = (answer: { headers: Record<string, string | string[] | undefined> }) =>
  String(answer.headers['etag'])

describe('ETag', () => {
  test('every response with a lead has the same ETag, and a GET with this ETag gets 304', async () => {
    const created = await request('POST', '/leads', { json: LEAD })
    const path = `/leads/${created.json.data.reference}`
    const etag = readEtag(created)
    expect(etag).toMatch(/^"1-\d+"$/)
    expect(readEtag(await request('GET', path))).toBe(etag)
    const changed = await request('PATCH', path, { json: { value: 5 }, headers: { 'if-match': etag } })
    expect([changed.status, readEtag(changed)]).toEqual([200, etag.replace('"1-', '"2-')])
    const read = (tag: string, method = 'GET') => request(method, path, { headers: { 'if-none-match': tag } })
    for (const method of ['GET', 'HEAD']) {
      const known = await read(readEtag(changed), method)
      expect([known.status, known.text, readEtag(known)]).toEqual([304, '', readEtag(changed)])
      expect(known.headers['content-length']).toBe(
        method === 'HEAD' ? String(changed.bytes.length) : undefined,
      )
      expect((await read(etag, method)).status).toBe(200)
    }
    expect((await read(etag)).text).toBe(changed.text)
  })

  test('the ETag of a page changes with its leads', async () => {
    const first = await request('GET', '/leads')
    const headers = { 'if-none-match': readEtag(first) }
    expect((await request('GET', '/leads', { headers })).status).toBe(304)
    const { reference } = await tenant.createLead()
    const second = await request('GET', '/leads', { headers })
    expect(second.status).toBe(200)
    await request('PATCH', `/leads/${reference}`, { json: { value: 1 } })
    const third = await request('GET', '/leads', { headers: { 'if-none-match': readEtag(second) } })
    expect([third.status, third.text.includes('"value":1,')]).toEqual([200, true])
  })

  test('an unknown lead gets 404 and an invalid body 422, whatever If-Match says', async () => {
    const { reference } = await tenant.createLead()
    const patchForStatus = async (path: string, json: object, ifMatch: string) =>
      (await request('PATCH', path, { json, headers: { 'if-match': ifMatch } })).status
    const nowhere = '/leads/00000000-0000-4000-8000-000000000000'
    expect(await patchForStatus(nowhere, {}, '*')).toBe(404)
    expect(await patchForStatus(nowhere, {}, '"9-9"')).toBe(404)
    expect(await patchForStatus(`/leads/${reference}`, { value: -1 }, '"9-9"')).toBe(422)
    expect(await patchForStatus(`/leads/${reference}`, { user_email: 'no@b.example' }, '"9-9"')).toBe(422)
    expect(await patchForStatus(`/leads/${reference}`, {}, '"9-9"')).toBe(412)
    expect(await patchForStatus(`/leads/${reference}`, {}, '*')).toBe(200)
    expect(await patchForStatus(`/leads/${reference}`, {}, 'nonsense')).toBe(400)
  })
})
