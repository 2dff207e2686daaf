import { cutConnections, eventually, type Receiver } from '@leadwire/test-kit'
import { type Lead, type Stage, startStage, type Tenant } from '../../support/stage'
import { type Failure, type Load, startLoad } from './load.fixture'

let stage: Stage
let tenant: Tenant
let receiver: Receiver
let load: Load
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage.stop())
beforeEach(async () => {
  tenant = await stage.newTenant()
  receiver = (await tenant.listen()).receiver
  load = startLoad({ bases: [stage.system.baseUrl], token: tenant.token })
  await load.moves(20)
})
afterEach(() => load.stop())

const told = () =>
  new Set(receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference))

/** Returns the last warnings of the services, which may explain a failure. */
const lastWarnings = () =>
  stage.system
    .logs()
    .filter(({ level }) => level === 'warn' || level === 'error')
    .slice(-5)
    .map((line) => JSON.stringify(line).slice(0, 500))
    .join('\n')

/** Ends the load. Expects that each accepted lead is stored once and that the receiver got its webhook. */
const expectNothingLost = async () => {
  await load.moves(20)
  await load.stop()
  const { accepted } = load
  expect(new Set(accepted).size).toBe(accepted.length)
  await eventually(
    () => {
      const heard = told()
      expect(accepted.filter((reference) => !heard.has(reference))).toEqual([])
      expect(heard.size).toBe(accepted.length)
    },
    { everyMs: 50, describe: 'waiting for the webhook of every accepted lead' },
  ).catch((error: Error) => {
    throw new Error(`${error.message}\n${lastWarnings()}`)
  })
  const list = await tenant.client.request('GET', '/leads')
  expect(list.json).toMatchObject({ total: accepted.length })
  await eventually(async () => {
    const deliveries = await tenant.client.request('GET', '/manage/deliveries?status=delivered')
    expect(deliveries.json).toMatchObject({ total: accepted.length })
  })
}

const expectFailures = (expected: Failure['status'][]) =>
  expect(load.failures.filter(({ status }) => !expected.includes(status))).toEqual([])

const kill = (name: string) => stage.system.kill(name)
const restart = (name: string) => stage.system.restart(name)

test.each(['gateway', 'leads-service'])('%s is killed: clients retry, and nothing is lost', async (name) => {
  await kill(name)
  await load.suffers()
  await restart(name)
  await expectNothingLost()
  // A request that was in flight at the kill may have one of these failures.
  expectFailures(name === 'gateway' ? ['unreachable', 409] : [503, 409])
})

test.each([
  'webhook-service',
  'files-service',
])('%s is killed: leads are accepted without interruption', async (name) => {
  await kill(name)
  await load.moves(20)
  await restart(name)
  await expectNothingLost()
  expect(load.failures).toEqual([])
})

test('NATS is killed and loses its store: leads are accepted without interruption', async () => {
  await stage.system.nats.kill()
  await load.moves(20)
  await stage.system.nats.restart({ empty: true })
  await expectNothingLost()
  expect(load.failures).toEqual([])
})

test('the connections to the database of leads-service are cut', async () => {
  for (let i = 0; i < 3; i++) {
    await cutConnections(stage.system.databases.leads)
    await load.moves(20)
  }
  await expectNothingLost()
  expectFailures([503, 409])
})

test('all processes are killed at once', async () => {
  const names = ['gateway', 'leads-service', 'files-service', 'webhook-service']
  await Promise.all([...names.map(kill), stage.system.nats.kill()])
  await stage.system.nats.restart()
  await Promise.all(names.map(restart))
  await expectNothingLost()
})
