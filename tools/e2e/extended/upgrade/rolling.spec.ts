import { createHmac } from 'node:crypto'
import { eventually, migrate, type Receiver, watchCallers } from '@leadwire/test-kit'
import { explain, type Lead, type Stage, startStage, type Tenant } from '../../support/stage'
import { makeHistory } from './history.fixture'
import { type MixedLoad, startMixedLoad } from './mixed-load.fixture'
import { BUILT_WITHIN_MS, describeUpgrade, previousRelease } from './previous-release.fixture'
import { listRouteNames, probeRoutes } from './probe-routes.fixture'

type Service = 'gateway' | 'leads-service' | 'files-service' | 'webhook-service'
const SERVICES: Service[] = ['gateway', 'leads-service', 'files-service', 'webhook-service']

const permutations = <T>(items: T[]): T[][] =>
  items.length === 0
    ? [[]]
    : items.flatMap((first) =>
        permutations(items.filter((item) => item !== first)).map((rest) => [first, ...rest]),
      )

/**
 * The orders in which the services are replaced. The first order replaces the previous release with this one,
 * the second order goes back to the previous release, and so on. The number of orders is odd, so the last
 * order ends with this release. LEADWIRE_UPGRADE_ORDERS=all tests every order.
 */
const ORDERS: Service[][] =
  process.env['LEADWIRE_UPGRADE_ORDERS'] === 'all'
    ? [...permutations(SERVICES), SERVICES]
    : [SERVICES, [...SERVICES].reverse(), ['leads-service', 'webhook-service', 'files-service', 'gateway']]

const SLOW_MS = 600_000

/** Operations of the previous release that now also call a new method of a service. */
const EXTENDED = ['GET /manage/leads/{reference}/export']
const USER = 'sam@example.com'

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
  let changes: { receiver: Receiver; secret: string } | undefined
  /** Leads that were updated while all copies of leads-service ran this release and `changes` existed. */
  const followed: string[] = []
  let followedFrom = 0
  /**
   * Leads that existed before `changes`. An update in flight may have been stored before `changes`
   * existed.
   */
  const createdEarlier = new Set<string>()
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
      // Raises the limit of notifications, because each update of the load notifies the same user.
      env: {
        WEBHOOK_RETRY_SCHEDULE: '100ms,100ms,100ms,100ms,100ms',
        NOTIFICATIONS_PER_HOUR: '1000000',
      },
    })
    past = await stage.newTenant()
    history = await makeHistory(past)
    known = await listRouteNames(past)
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
    await tenant.send('POST', '/manage/users', { json: { email: USER, name: 'Sam' } })
    load = startMixedLoad({ bases: gateways(), token: tenant.token, userEmail: USER })
  }, BUILT_WITHIN_MS)
  afterAll(async () => {
    await load?.stop()
    await stage?.stop()
  })

  const gateways = () => stage.system.services.flatMap(({ base }) => base ?? [])

  const replace = async (service: Service, root?: string) => {
    if (service === 'leads-service' && root) followed.push(...load.changed.slice(followedFrom))
    const copies = stage.system.services.filter((one) => one.service === service)
    for (const copy of copies) {
      load.use(gateways().filter((base) => base !== copy.base))
      await load.moves(3)
      const areBack = await watchCallers(
        copy,
        copies.filter((one) => one !== copy),
      )
      await stage.system.drain(copy.name)
      await load.moves(3)
      await stage.system.restart(copy.name, root)
      load.use(gateways())
      await load.moves(3)
      await areBack()
    }
    if (service === 'leads-service') followedFrom = load.changed.length
  }

  const failures = () => explain(stage.system, load.failures)

  const migrateFor = (service: 'leads-service' | 'webhook-service') =>
    migrate(service, stage.system.services.find((one) => one.service === service)!.env)

  const told = (receiver: Receiver, type?: string) =>
    receiver.requests
      .map(({ body }) => JSON.parse(body.toString()) as { type?: string; data: Lead })
      .flatMap((event) => (event.type === type ? event.data.reference : []))

  /** Returns up to five leads whose webhook did not arrive exactly `times` times. */
  const miscounted = (receiver: Receiver, times: number, accepted: string[], type?: string) => {
    const counts = new Map(accepted.map((reference) => [reference, 0]))
    for (const reference of told(receiver, type))
      if (counts.has(reference)) counts.set(reference, counts.get(reference)! + 1)
    return [...counts].filter(([, count]) => count !== times).slice(0, 5)
  }

  const notifiedLeads = async () => {
    const references: string[] = []
    for (let page = 1; ; page++) {
      const path = `/manage/notifications?status=delivered&page=${page}`
      const found = await tenant.send<{ lead_reference: string }[]>('GET', path)
      if (found.length === 0) return references
      references.push(...found.map(({ lead_reference }) => lead_reference))
    }
  }

  const expectAllTold = async () => {
    const accepted = [...load.accepted]
    await eventually(() => expect(miscounted(steady.receiver, 1, accepted)).toEqual([]))
    await eventually(() => expect(miscounted(flaky.receiver, 2, accepted)).toEqual([]))
  }

  test('the history has a delivery in every final state', () => {
    expect(new Set(history.statuses)).toEqual(new Set(['delivered', 'exhausted', 'held', 'cancelled']))
  })

  test(
    'the databases are migrated while the previous release runs',
    async () => {
      await load.moves(20)
      await migrateFor('leads-service')
      await load.moves(20)
      await migrateFor('webhook-service')
      await load.moves(20)
      expect(failures()).toEqual([])
    },
    SLOW_MS,
  )

  test(
    'a new gateway responds 503 to operations that old services do not know',
    async () => {
      await replace('gateway')
      const failed = await probeRoutes(await stage.newTenant(), known)
      const unknown = failed.get(503) ?? []
      expect([...failed.keys()].filter((status) => status !== 503)).toEqual([])
      expect(unknown.filter((route) => known.has(route))).toEqual(EXTENDED)
      expect(failures()).toEqual([])
    },
    SLOW_MS,
  )

  test.each(ORDERS.map((order, index) => [order.join(', '), index] as const))(
    '%s',
    async (_order, index) => {
      const root = index % 2 === 0 ? undefined : old
      for (const service of ORDERS[index]!) {
        await replace(service, root)
        expect({ service, failures: failures() }).toEqual({ service, failures: [] })
        await history.expectUnchanged()
      }
      await expectAllTold()
      await history.expectReplays()
      if (changes) return
      changes = await tenant.listen({ events: ['lead.updated'] })
      for (const reference of load.accepted) createdEarlier.add(reference)
      followedFrom = load.changed.length
    },
    SLOW_MS,
  )

  test(
    'every webhook and every e-mail arrived once, and each webhook is signed',
    async () => {
      await load.stop()
      expect(failures()).toEqual([])
      await expectAllTold()
      expect(told(steady.receiver)).toHaveLength(load.accepted.length)
      followed.push(...load.changed.slice(followedFrom))
      const { receiver } = changes!
      const updated = followed.filter((reference) => !createdEarlier.has(reference))
      await eventually(() => expect(miscounted(receiver, 1, updated, 'lead.updated')).toEqual([]))
      const updates = told(receiver, 'lead.updated')
      expect(updates).toHaveLength(new Set(updates).size)
      await eventually(async () => {
        const notified = await notifiedLeads()
        expect(notified).toHaveLength(new Set(notified).size)
        expect(new Set(notified)).toEqual(new Set([...notified, ...followed]))
      })
      const refused = stage.system.logs().filter(({ msg }) => msg?.startsWith('a dead letter'))
      expect(refused).toEqual([])
      const attempts = late.receiver.requests.map(({ arrivedAt }) => arrivedAt.getTime())
      expect(attempts).toHaveLength(3)
      // Allows 5 s, because each copy estimates the clock of the database, with an error as long as the delay
      // of the database's response. On a busy machine, this delay may take seconds.
      expect(attempts[2]! - attempts[1]!).toBeGreaterThanOrEqual(20_000 - 5000)
      for (const { receiver, secret } of [steady, flaky, late, changes!])
        for (const { headers, body } of receiver.requests)
          expect(headers['x-service-signature']).toBe(createHmac('sha1', secret).update(body).digest('hex'))
    },
    SLOW_MS,
  )
})
