import { PassThrough } from 'node:stream'
import { eventually } from '@leadwire/test-kit'
import { createClient, multipartBody } from '../client'
import { LEAD, type Stage, startStage, type Tenant } from '../stage.fixture'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const ask = (address: string) => tenant.client.request<{ missing?: string[] }>('GET', address, { token: '' })

const healthOf = (name: string) => stage.system.services.find((service) => service.name === name)!.health

const everythingServes = () =>
  eventually(async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 200, json: { status: 'ready' } })
    for (const { health } of stage.system.services) expect((await ask(`${health}/readyz`)).status).toBe(200)
  })

test('every service says that it lives and serves, and shows its metrics', async () => {
  await everythingServes()
  for (const { health } of stage.system.services) {
    for (const path of ['/', '/healthz'])
      expect(await ask(`${health}${path}`)).toMatchObject({ status: 200, json: { status: 'alive' } })
    const metrics = await ask(`${health}/metrics`)
    expect(metrics.status).toBe(200)
    expect(metrics.text).toMatch(/^process_cpu_seconds_total/m)
  }
  expect(await ask('/healthz')).toMatchObject({ status: 200 })
})

test.each([
  'leads-service',
  'files-service',
  'webhook-service',
])('while %s is unavailable the gateway says so, and is ready again when it is back', async (name) => {
  await stage.system.kill(name)
  await eventually(async () => {
    expect(await ask('/readyz')).toMatchObject({
      status: 503,
      json: { status: 'not ready', missing: [name] },
    })
  })
  expect((await ask('/healthz')).status).toBe(200)
  await stage.system.restart(name)
  await everythingServes()
})

test('what needs an absent service is 503, with Retry-After; the rest is served', async () => {
  await stage.system.kill('webhook-service')
  const refused = await tenant.client.request('GET', '/manage/deliveries')
  expect(refused.status).toBe(503)
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
  expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(refused.text).not.toMatch(/ECONNREFUSED|127\.0\.0\.1|UNAVAILABLE/)
  expect((await tenant.client.request('POST', '/leads', { json: LEAD })).status).toBe(200)
  await stage.system.restart('webhook-service')
  await eventually(async () => {
    expect((await tenant.client.request('GET', '/manage/deliveries')).status).toBe(200)
  })
})

test('without NATS webhook-service says so, and comes back by itself', async () => {
  await stage.system.nats.kill()
  await eventually(async () => {
    const answer = await ask(`${healthOf('webhook-service')}/readyz`)
    expect([answer.status, answer.json.missing]).toEqual([503, ['nats']])
  })
  expect((await tenant.client.request('POST', '/leads', { json: LEAD })).status).toBe(200)
  await stage.system.nats.restart()
  await everythingServes()
})

test('a gateway asked to stop finishes what is in flight, says that it drains, and goes', async () => {
  const { reference } = await tenant.createLead()
  const bytes = multipartBody(
    [
      { name: 'name', value: 'a' },
      { name: 'file', value: 'a text', fileName: 'a.txt' },
    ],
    'b',
  )
  const stalled = new PassThrough()
  stalled.write(bytes.subarray(0, -20))
  const upload = tenant.client.request('POST', `/leads/${reference}/attachments`, {
    body: stalled,
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })
  // A connection that is open before the drain and idle when it begins.
  const idle = createClient(stage.system.baseUrl, { token: tenant.token })
  try {
    expect((await idle.request('GET', '/leads')).status).toBe(200)
    const drained = stage.system.drain('gateway')
    await eventually(async () => {
      const answer = await ask(`${healthOf('gateway')}/readyz`)
      expect(answer).toMatchObject({ status: 503, json: { missing: ['draining'] } })
    })
    const late = await idle.request('GET', '/leads')
    expect([late.status, late.headers['connection']]).toEqual([200, 'close'])
    stalled.end(bytes.subarray(-20))
    expect((await upload).status).toBe(200)
    await drained
    await expect(ask('/healthz')).rejects.toThrow()
    expect(stage.system.logs('gateway').filter(({ level }) => level === 'error')).toEqual([])
  } finally {
    await idle.close()
  }
  await stage.system.restart('gateway')
  await everythingServes()
})
