import { PassThrough } from 'node:stream'
import { eventually } from '@leadwire/test-kit'
import { createClient, multipartBody } from '../../support/client'
import { LEAD, type Stage, startStage, type Tenant } from '../../support/stage'

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage()
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const ask = (address: string) => tenant.client.request<{ missing?: string[] }>('GET', address, { token: '' })

const findHealth = (name: string) => stage.system.services.find((service) => service.name === name)!.health

const everythingServes = () =>
  eventually(async () => {
    expect(await ask('/readyz')).toMatchObject({ status: 200, json: { status: 'ready' } })
    for (const { health } of stage.system.services) expect((await ask(`${health}/readyz`)).status).toBe(200)
  })

test('every service is alive and ready, and exposes metrics', async () => {
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
])('without %s the gateway is not ready and names it, and is ready again afterwards', async (name) => {
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

test('requests that need an unavailable service get 503 with Retry-After, and others succeed', async () => {
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

test('without NATS webhook-service is not ready, and recovers without help', async () => {
  await stage.system.nats.kill()
  await eventually(async () => {
    const answer = await ask(`${findHealth('webhook-service')}/readyz`)
    expect([answer.status, answer.json.missing]).toEqual([503, ['nats']])
  })
  expect((await tenant.client.request('POST', '/leads', { json: LEAD })).status).toBe(200)
  await stage.system.nats.restart()
  await everythingServes()
})

test('a gateway that is stopped completes requests in flight, reports that it drains, and ends', async () => {
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
  // This connection is open when the drain starts.
  const idle = createClient(stage.system.baseUrl, { token: tenant.token })
  try {
    expect((await idle.request('GET', '/leads')).status).toBe(200)
    const drained = stage.system.drain('gateway')
    // Uses the connection until the drain has started. Half a second later, the gateway closes connections
    // that are idle.
    await eventually(
      async () => {
        const late = await idle.request('GET', '/leads')
        expect([late.status, late.headers['connection']]).toEqual([200, 'close'])
      },
      { everyMs: 1 },
    )
    await eventually(async () => {
      const answer = await ask(`${findHealth('gateway')}/readyz`)
      expect(answer).toMatchObject({ status: 503, json: { missing: ['draining'] } })
    })
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
