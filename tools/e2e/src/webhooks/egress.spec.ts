import { eventually, startReceiver } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

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

test('addresses inside are blocked when an attempt starts; the one that is named gets its webhook', async () => {
  const [inside, named] = await Promise.all([startReceiver(), startReceiver({ host: '127.0.0.2' })])
  const { port } = inside
  try {
    const endpoint = async (url: string) => {
      const { id } = await tenant.send('POST', '/manage/webhook-endpoints', { json: { url } })
      return [url, id] as const
    }
    const allowed = await endpoint(named.url)
    const blocked: (readonly [string, number])[] = []
    for (const host of [
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
    ])
      blocked.push(await endpoint(`http://${host}:${port}/`))
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
    expect(await firstAttempt(allowed[1])).toMatchObject({ status: 200, error: null })
    expect(named.requests[0]!.body.toString()).toContain(lead.reference)
  } finally {
    await Promise.all([inside.stop(), named.stop()])
  }
})
