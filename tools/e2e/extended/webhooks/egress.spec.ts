import { eventually, startReceiver } from '@leadwire/test-kit'
import { Client } from 'pg'
import { type Stage, startStage, type Tenant } from '../../support/stage'

type Delivery = {
  id: number
  endpoint_id: number
  attempts: { status: number | null; error: string | null }[]
}

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ env: { WEBHOOK_ALLOW_HOSTS: '127.0.0.2' } })
  tenant = await stage.newTenant()
})
afterAll(() => stage.stop())

const INSIDE = [
  '127.0.0.1',
  'localhost',
  '[::1]',
  '[::ffff:127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[2002:7f00:1::]',
  '2130706433',
  '0x7f.1',
  '0.0.0.0',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '[fe80::1]',
  '[fd00::1]',
]

test('an internal address is refused when it is registered; an unknown host name is accepted', async () => {
  const { id } = await tenant.send('POST', '/manage/webhook-endpoints', {
    json: { url: 'https://later.invalid/' },
  })
  for (const host of INSIDE)
    for (const [method, path] of [
      ['POST', '/manage/webhook-endpoints'],
      ['PATCH', `/manage/webhook-endpoints/${id}`],
    ] as const) {
      const json = { url: `http://${host}:8080/` }
      const { status, json: problem } = await tenant.client.request<{ errors: object }>(method, path, {
        json,
      })
      expect([host, status, problem.errors]).toEqual([
        host,
        422,
        {
          url: [
            expect.stringMatching(
              /^Webhooks would be blocked: .* (is not|does not resolve to) a public address, /,
            ),
          ],
        },
      ])
    }
  expect(await tenant.send('GET', '/manage/webhook-endpoints')).toMatchObject([
    { url: 'https://later.invalid/' },
  ])
  await tenant.send('DELETE', `/manage/webhook-endpoints/${id}`)
})

test('internal addresses are blocked when an attempt starts; an allowed one gets its webhook', async () => {
  const [inside, named] = await Promise.all([startReceiver(), startReceiver({ host: '127.0.0.2' })])
  const { port } = inside
  const database = new Client({ connectionString: stage.system.databases.webhooks.url })
  await database.connect()
  try {
    const endpoint = async () => {
      const { id } = await tenant.send('POST', '/manage/webhook-endpoints', { json: { url: named.url } })
      return id
    }
    const allowed = await endpoint()
    const blocked: (readonly [string, number])[] = []
    for (const host of INSIDE) {
      const [url, id] = [`http://${host}:${port}/`, await endpoint()]
      // Simulates a host name that has moved to an internal IP address since the endpoint was created.
      await database.query('UPDATE endpoints SET url = $1 WHERE id = $2', [url, id])
      blocked.push([url, id])
    }
    const lead = await tenant.createLead()
    const firstAttempt = (id: number) =>
      eventually(async () => {
        const list = await tenant.client.request<{ data: { id: number }[] }>(
          'GET',
          `/manage/deliveries?endpoint_id=${id}`,
        )
        const { attempts } = await tenant.send<Delivery>('GET', `/manage/deliveries/${list.json.data[0]?.id}`)
        expect(attempts).toHaveLength(1)
        return attempts[0]!
      })
    for (const [url, id] of blocked) {
      const { status, error } = await firstAttempt(id)
      expect([url, status, error]).toEqual([url, null, 'blocked'])
    }
    expect(inside.requests).toEqual([])
    expect(await firstAttempt(allowed)).toMatchObject({ status: 200, error: null })
    expect(named.requests[0]!.body.toString()).toContain(lead.reference)
  } finally {
    await Promise.all([inside.stop(), named.stop(), database.end()])
  }
})
