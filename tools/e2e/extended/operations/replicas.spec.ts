import { eventually, type Receiver, watchCallers } from '@leadwire/test-kit'
import { createClient } from '../../support/client'
import { explain, type Lead, type Stage, startStage, type Tenant } from '../../support/stage'
import { type Load, startLoad } from './load.fixture'

let stage: Stage
let tenant: Tenant
let bases: string[]
let receiver: Receiver
let load: Load
beforeAll(async () => {
  stage = await startStage({ replicas: 2 })
  bases = stage.system.services.flatMap(({ base }) => base ?? [])
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  receiver = (await tenant.listen()).receiver
})
afterEach(() => load?.stop())

const told = () =>
  receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)

const failures = () =>
  explain(
    stage.system,
    load.failures.map(({ status, body }) => `${status} ${body}`),
  )

const everyLeadIsTold = () =>
  eventually(() => expect(new Set(told())).toEqual(new Set(load.accepted)), { everyMs: 50 })

test('two copies of each service work as one: both gateways show the same leads, and each webhook arrives once', async () => {
  expect(bases).toHaveLength(2)
  load = startLoad({ bases, token: tenant.token })
  await load.moves(100)
  await load.stop()
  expect(failures()).toEqual([])
  await everyLeadIsTold()
  expect(receiver.requests).toHaveLength(load.accepted.length)
  const [one, other] = await Promise.all(
    bases.map(async (base) => {
      const client = createClient(base, { token: tenant.token })
      const { json } = await client.request<{ data: Lead[]; total: number }>('GET', '/leads')
      await client.close()
      return json
    }),
  )
  expect(one!.total).toBe(load.accepted.length)
  expect(one!.data).toEqual(other!.data)
})

test('a revocation at one gateway takes effect at the other', async () => {
  const { id, token } = await tenant.newToken({})
  const client = createClient(bases[1]!, { token })
  try {
    expect((await client.request('GET', '/leads')).status).toBe(200)
    await tenant.send('DELETE', `/manage/tokens/${id}`)
    await eventually(async () => expect((await client.request('GET', '/leads')).status).toBe(401))
  } finally {
    await client.close()
  }
})

test('while copies are drained and restarted under load, no request fails, and each webhook arrives once', async () => {
  load = startLoad({ bases, token: tenant.token })
  await load.moves(20)
  for (const copy of stage.system.services) {
    const { name, base } = copy
    const peers = stage.system.services.filter((one) => one.service === copy.service && one !== copy)
    const areBack = await watchCallers(copy, peers)
    load.use(bases.filter((other) => other !== base))
    await stage.system.drain(name)
    await load.moves(20)
    await stage.system.restart(name)
    load.use(bases)
    await load.moves(20)
    await areBack()
  }
  await load.stop()
  expect(failures()).toEqual([])
  await everyLeadIsTold()
  await eventually(async () => {
    const { json } = await tenant.client.request('GET', '/manage/deliveries?status=pending')
    expect(json).toMatchObject({ total: 0 })
  })
  expect(receiver.requests).toHaveLength(load.accepted.length)
})

test.each([
  'leads-service',
  'gateway',
])('one copy of %s is killed: the other continues, and nothing is lost', async (name) => {
  load = startLoad({ bases, token: tenant.token })
  await load.moves(20)
  await stage.system.kill(name)
  await load.moves(20)
  await stage.system.restart(name)
  await load.moves(20)
  await load.stop()
  await everyLeadIsTold()
  const { json } = await tenant.client.request('GET', '/leads')
  expect(json).toMatchObject({ total: load.accepted.length })
})
