import { createHmac } from 'node:crypto'
import { eventually, type Receiver } from '@leadwire/test-kit'
import { type Lead, type Stage, startStage, type Tenant } from '../stage.fixture'
import { makeHistory } from './history.fixture'
import { migrate } from './migrate.fixture'
import { type MixedLoad, startMixedLoad } from './mixed-load.fixture'
import { BUILT_WITHIN_MS, describeUpgrade, previousRelease } from './previous-release.fixture'
import { probeRoutes, routeNames } from './probe-routes.fixture'

type Service = 'gateway' | 'leads-service' | 'files-service' | 'webhook-service'
const SERVICES: Service[] = ['gateway', 'leads-service', 'files-service', 'webhook-service']

const permutations = <T>(items: T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((first) =>
        permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
      )

/** In which orders services are replaced, by this release and by the one before in turn; LEADWIRE_UPGRADE_ORDERS=all: in every order. */
const ORDERS: Service[][] =
  process.env['LEADWIRE_UPGRADE_ORDERS'] === 'all'
    ? permutations(SERVICES)
    : [SERVICES, [...SERVICES].reverse(), ['leads-service', 'webhook-service', 'files-service', 'gateway']]

const SLOW_MS = 600_000

describeUpgrade()('the previous release and this one', () => {
  let old: string
  let stage: Stage
  let history: Awaited<ReturnType<typeof makeHistory>>
  let past: Tenant
  let tenant: Tenant
  let load: MixedLoad
  let steady: { receiver: Receiver; secret: string }
  let flaky: { receiver: Receiver; secret: string }
  let late: { receiver: Receiver; secret: string }
  let known: Set<string>
  const schedule = (text: string) => {
    for (const { service, env } of stage.system.services)
      if (service === 'webhook-service') env['WEBHOOK_RETRY_SCHEDULE'] = text
  }

  beforeAll(async () => {
    old = await previousRelease()
    stage = await startStage({
      replicas: 2,
      root: old,
      env: { WEBHOOK_RETRY_SCHEDULE: '100ms,100ms,100ms,100ms,100ms' },
    })
    past = await stage.newTenant()
    history = await makeHistory(past)
    known = await routeNames(past)
    schedule('1s,20s,20s,20s,20s')
    await Promise.all(['webhook-service', 'webhook-service-2'].map((name) => stage.system.restart(name, old)))
    const slowTenant = await stage.newTenant()
    late = await slowTenant.listen()
    late.receiver.answerWith((_, index) => ({ status: index < 2 ? 503 : 200 }))
    await slowTenant.createLead()
    tenant = await stage.newTenant()
    steady = await tenant.listen()
    flaky = await tenant.listen()
    const seen = new Set<unknown>()
    flaky.receiver.answerWith(({ headers }) => {
      const id = headers['webhook-id']
      const status = seen.has(id) ? 200 : 503
      seen.add(id)
      return { status }
    })
    load = startMixedLoad({ bases: gateways(), token: tenant.token })
  }, BUILT_WITHIN_MS)
  afterAll(async () => {
    await load?.stop()
    await stage?.stop()
  })

  const gateways = () => stage.system.services.flatMap(({ base }) => base ?? [])

  const replace = async (service: Service, root?: string) => {
    for (const copy of stage.system.services.filter((one) => one.service === service)) {
      load.use(gateways().filter((base) => base !== copy.base))
      await load.moves(3)
      await stage.system.drain(copy.name)
      await load.moves(3)
      await stage.system.restart(copy.name, root)
      load.use(gateways())
      await load.moves(3)
    }
  }

  const migrateFor = (service: 'leads-service' | 'webhook-service') =>
    migrate(service, stage.system.services.find((one) => one.service === service)!.env)

  const told = (receiver: Receiver) =>
    receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data.reference)

  /** Some of these leads that were not told so often. */
  const miscounted = (receiver: Receiver, times: number, accepted: string[]) => {
    const counts = new Map(accepted.map((reference) => [reference, 0]))
    for (const reference of told(receiver))
      if (counts.has(reference)) counts.set(reference, counts.get(reference)! + 1)
    return [...counts].filter(([, count]) => count !== times).slice(0, 5)
  }

  const expectAllTold = async () => {
    const accepted = [...load.accepted]
    await eventually(() => expect(miscounted(steady.receiver, 1, accepted)).toEqual([]))
    await eventually(() => expect(miscounted(flaky.receiver, 2, accepted)).toEqual([]))
  }

  test('there is a delivery in every state that lasts', () => {
    expect(new Set(history.statuses)).toEqual(new Set(['delivered', 'exhausted', 'held', 'cancelled']))
  })

  test(
    'databases are migrated under the previous release',
    async () => {
      await load.moves(20)
      await migrateFor('leads-service')
      await load.moves(20)
      await migrateFor('webhook-service')
      await load.moves(20)
      expect(load.failures).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'a new gateway before old services answers what they do not know with 503',
    async () => {
      await replace('gateway')
      const failed = await probeRoutes(await stage.newTenant(), known)
      expect([...failed.keys()]).toEqual([503])
      expect(failed.get(503)).toContain('GET /manage/leads/{reference}/history')
      expect(load.failures).toEqual([])
    },
    SLOW_MS,
  )

  test.each(ORDERS.map((order, index) => [order.join(', '), index] as const))(
    '%s',
    async (_order, index) => {
      const root = index % 2 === 0 ? undefined : old
      for (const service of ORDERS[index]!) {
        await replace(service, root)
        expect({ service, failures: load.failures }).toEqual({ service, failures: [] })
        await history.expectUnchanged()
      }
      await expectAllTold()
      await history.expectReplays()
    },
    SLOW_MS,
  )

  test(
    'every webhook came, none came twice, and each was signed',
    async () => {
      await load.stop()
      expect(load.failures).toEqual([])
      await expectAllTold()
      expect(told(steady.receiver)).toHaveLength(load.accepted.length)
      const attempts = late.receiver.requests.map(({ arrivedAt }) => arrivedAt.getTime())
      expect(attempts).toHaveLength(3)
      expect(attempts[2]! - attempts[1]!).toBeGreaterThanOrEqual(20_000)
      for (const { receiver, secret } of [steady, flaky, late])
        for (const { headers, body } of receiver.requests)
          expect(headers['x-service-signature']).toBe(createHmac('sha1', secret).update(body).digest('hex'))
    },
    SLOW_MS,
  )
})
