import { eventually } from '@leadwire/test-kit'
import { type Stage, startStage, type Tenant } from '../stage.fixture'

type Delivery = { id: number; status: string; attempt_count: number; attempts: { number: number }[] }

let stage: Stage
let tenant: Tenant
beforeAll(async () => {
  stage = await startStage({ replicas: 2 })
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
})

const deliveries = async () => {
  const { json } = await tenant.client.request<{ data: Delivery[] }>('GET', '/manage/deliveries')
  return Promise.all(json.data.map(({ id }) => tenant.send<Delivery>('GET', `/manage/deliveries/${id}`)))
}

test('a process that dies in the middle of an attempt spends none: another makes the same one when its claim ends', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith((_, index) => (index < 4 ? 'hang' : { status: 200 }))
  for (let i = 0; i < 4; i++) await tenant.createLead()
  // The copies share the work, so whichever holds one of the four dies with it.
  await eventually(() => expect(receiver.requests).toHaveLength(4))
  await stage.system.kill('webhook-service')
  await stage.system.kill('webhook-service-2')
  await stage.system.restart('webhook-service')
  await eventually(() => expect(receiver.requests).toHaveLength(8))
  await stage.system.restart('webhook-service-2')

  const idsOf = (from: number, to: number) =>
    receiver.requests
      .slice(from, to)
      .map(({ headers }) => headers['webhook-id'])
      .sort()
  expect(idsOf(4, 8)).toEqual(idsOf(0, 4))
  await eventually(async () => {
    const found = await deliveries()
    expect(
      found.map(({ status, attempt_count, attempts }) => [status, attempt_count, attempts.length]),
    ).toEqual(found.map(() => ['delivered', 1, 1]))
    expect(found).toHaveLength(4)
  })
  expect(receiver.requests).toHaveLength(8)
})

test('a drain lets an attempt that is on its way come to its end', async () => {
  const { receiver } = await tenant.listen()
  receiver.answerWith({ status: 200, delayMs: 1500 })
  await tenant.createLead()
  await eventually(() => expect(receiver.requests).toHaveLength(1))
  await Promise.all(['webhook-service', 'webhook-service-2'].map((name) => stage.system.drain(name)))
  await Promise.all(['webhook-service', 'webhook-service-2'].map((name) => stage.system.restart(name)))
  await eventually(async () => {
    expect(await deliveries()).toMatchObject([{ status: 'delivered', attempt_count: 1 }])
  })
  expect(receiver.requests).toHaveLength(1)
})
