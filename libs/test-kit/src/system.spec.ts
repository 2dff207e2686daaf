import { eventually } from '@leadwire/embedded'
import { startReceiver } from './receiver'
import { type System, startSystem } from './system'

let system: System
beforeAll(async () => {
  system = await startSystem({ replicas: 2 })
})
afterAll(() => system.stop())

const statuses = () =>
  fetch(`${system.baseUrl}/leads/statuses`, { headers: { authorization: `Bearer ${system.token}` } })

test('a system of its own serves, with a token of its own account', async () => {
  expect((await statuses()).status).toBe(200)
  expect(system.account).toMatchObject({ id: expect.any(Number), api_key: expect.any(String) })
  expect(system.services.map(({ name }) => name)).toContain('webhook-service-2')
  const other = await system.createAccount('Other')
  expect(other.account.id).not.toBe(system.account.id)
  expect(system.logs('gateway')).toContainEqual(expect.objectContaining({ msg: 'ready' }))
})

test('a copy that was killed stays down until it is restarted, where it was', async () => {
  const before = system.pid('gateway')
  await system.kill('gateway')
  await expect(statuses()).rejects.toThrow('fetch failed')
  await system.restart('gateway')
  expect(system.pid('gateway')).not.toBe(before)
  expect((await statuses()).status).toBe(200)
})

test('a lead that is created reaches a webhook receiver', async () => {
  const receiver = await startReceiver()
  const post = (path: string, body: object) =>
    fetch(`${system.baseUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${system.token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  try {
    expect((await post('/manage/webhook-endpoints', { url: receiver.url })).status).toBe(200)
    const lead = {
      ...{ name: 'Windows', first_name: 'Ada', last_name: 'Byron', email: 'ada@example.com' },
      ...{ phone: '020 7946 0000', postcode: 'SW1A 1AA', referrer: 'Website', status: 'open' },
    }
    expect((await post('/leads', lead)).status).toBe(200)
    await eventually(() => expect(receiver.requests).toHaveLength(1))
    expect(receiver.requests[0]!.headers).toHaveProperty('x-service-signature')
  } finally {
    await receiver.stop()
  }
})
