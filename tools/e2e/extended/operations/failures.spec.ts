import { appendFile, rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import {
  eventually,
  type Hardship,
  isReady,
  mountDisk,
  s3Settings,
  startMinio,
  startPostgresServer,
  type TestDisk,
  type TestMinio,
  type TestPostgres,
} from '@leadwire/test-kit'
import { Client } from 'pg'
import { type Lead, type Stage, startStage, type Tenant } from '../../support/stage'
import { expectHonest, KINDS, type Kind, type Probe, type Probes, startProbes } from './probes.fixture'

/** The file for a table of the results, or undefined. */
const REPORT = process.env['LEADWIRE_FAILURES_REPORT']

const skip = (what: string, why: string) => console.warn(`SKIPPED: ${what}: ${why}`)

const given = <T extends object>(made: T | { reason: string }, what: string): T | undefined => {
  if (!('reason' in made)) return made
  skip(what, made.reason)
  return undefined
}

let disks: { postgres: TestDisk | undefined; minio: TestDisk | undefined }
let postgres: TestPostgres
let minio: TestMinio | undefined
let stage: Stage
beforeAll(async () => {
  const mounted = async (mebibytes: number, what: string) => given(await mountDisk({ mebibytes }), what)
  disks = {
    postgres: await mounted(400, 'a full disk under PostgreSQL'),
    minio: await mounted(200, 'a full disk under MinIO'),
  }
  postgres = await startPostgresServer({ folder: disks.postgres?.path })
  minio = given(await startMinio({ folder: disks.minio?.path }), 'faults of MinIO')
  stage = await startStage({ postgres: postgres.url, store: minio && s3Settings(minio.store) })
  if (!REPORT) return
  await rm(REPORT, { force: true })
  await appendFile(
    REPORT,
    '| Fault | Responses meanwhile | Slowest, s | All works after, s |\n|---|---|---:|---:|\n',
  )
}, 900_000)
afterAll(async () => {
  await stage?.stop()
  await postgres?.stop()
  await minio?.stop()
  await disks.postgres?.remove()
  await disks.minio?.remove()
})

const seconds = (ms: number) => (ms / 1000).toFixed(1)

/** Renders the statuses as `create 3 × 200, 12 × 503; …`. */
const summary = (answers: Probe[]) =>
  KINDS.flatMap((kind) => {
    const statuses = answers.filter((one) => one.kind === kind).map(({ status }) => status)
    const counts = [...new Set(statuses)]
      .sort()
      .map((status) => `${statuses.filter((one) => one === status).length} × ${status}`)
    return counts.length > 0 ? [`${kind} ${counts.join(', ')}`] : []
  }).join('; ')

interface Fault {
  name: string
  /** The kinds of requests that may be refused during the fault. */
  hits: readonly Kind[]
  begin: () => Promise<unknown>
  /** Waits for the end of the fault. By default the fault lasts until each kind in `hits` was refused. */
  lasts?: ((probes: Probes) => Promise<unknown>) | undefined
  end: () => Promise<unknown>
}

/** Expects that each accepted lead is stored and that the receiver gets its webhook. */
const expectKept = async (tenant: Tenant, told: () => Lead[], accepted: string[]) => {
  expect(accepted.length).toBeGreaterThan(0)
  // Reads the leads one after the other and retries, because a busy service may respond with 503.
  for (const reference of accepted) {
    await eventually(async () => {
      const { status, text } = await tenant.client.request('GET', `/leads/${reference}`)
      expect([status, text]).toEqual([200, expect.any(String)])
    })
  }
  await eventually(() => {
    expect(told().map(({ reference }) => reference)).toEqual(expect.arrayContaining(accepted))
  })
}

/** Causes the fault under a light load, and checks the promises of docs/reliability.md. */
const suffer = async ({ name, hits, begin, end, lasts }: Fault) => {
  const tenant = await stage.newTenant()
  const { receiver } = await tenant.listen()
  const told = () => receiver.requests.map(({ body }) => (JSON.parse(body.toString()) as { data: Lead }).data)
  const probes = await startProbes(stage, tenant)
  try {
    await probes.served(0)
    const begun = performance.now()
    await begin()
    try {
      await (lasts?.(probes) ?? probes.refused(hits, begun))
    } finally {
      await end()
    }
    const ended = performance.now()
    await probes.served(ended, { timeoutMs: 30_000 })
    const back = performance.now()
    await eventually(async () => {
      for (const { health } of stage.system.services) expect(await isReady(health)).toBe(true)
    })
    await probes.stop()
    expectHonest(probes.answers, hits)
    await expectKept(tenant, told, probes.accepted)
    const meanwhile = probes.answers.filter((one) => one.answeredAt >= begun && one.sentAt < ended)
    const slowest = Math.max(...meanwhile.map(({ sentAt, answeredAt }) => answeredAt - sentAt))
    const row = `| ${name} | ${summary(meanwhile)} | ${seconds(slowest)} | ${seconds(back - ended)} |\n`
    if (REPORT) await appendFile(REPORT, row)
  } finally {
    await probes.stop().catch(() => undefined)
  }
}

/** Returns a function that waits until `count` more leads are accepted. */
const moves = (count: number) => async (probes: Probes) => {
  const goal = probes.accepted.length + count
  await eventually(() => expect(probes.accepted.length).toBeGreaterThanOrEqual(goal))
}

const nothing = () => Promise.resolve()

const WITHOUT_DATABASE = KINDS.filter((kind) => kind !== 'health')
const WITHOUT_STORE = ['attach', 'download'] as const

/**
 * Waits until a request of every kind is refused. Ignores requests that are sent within a second after the
 * call, because the gateway may still accept tokens from its cache.
 */
const untilAllIsRefused = (probes: Probes) => probes.refused(WITHOUT_DATABASE, performance.now() + 1000)

const hardships = (
  what: string,
  server: () => Hardship,
  { hits, lasts }: Pick<Fault, 'hits' | 'lasts'>,
): Fault[] => [
  { name: `${what} is killed`, begin: () => server().kill(), end: () => server().restart(), hits, lasts },
  { name: `${what} is frozen`, begin: () => server().freeze(), end: () => server().thaw(), hits, lasts },
  { name: `${what} is restarted`, begin: () => server().restart(), lasts: nothing, end: nothing, hits },
]

const named = (faults: Fault[]) => faults.map((fault) => [fault.name, fault] as const)

describe('PostgreSQL', () => {
  test.each(
    named(hardships('PostgreSQL', () => postgres, { hits: WITHOUT_DATABASE, lasts: untilAllIsRefused })),
  )('%s: requests get 503, and recover without help', (_name, fault) => suffer(fault))

  test('a full disk: writes get 503 until there is space', async () => {
    const disk = disks.postgres
    if (!disk) return
    await suffer({
      name: 'disk of PostgreSQL is full',
      hits: WITHOUT_DATABASE,
      begin: () => disk.fill(),
      lasts: (probes) => probes.refused(['create'], 0),
      end: () => disk.clear(),
    })
  })

  test('a tenth of its processor time: requests are slow, or get 503', async () => {
    let over = false
    const limp = async () => {
      while (!over) {
        await postgres.freeze()
        await pause(450)
        await postgres.thaw()
        await pause(50)
      }
    }
    let limping: Promise<void>
    await suffer({
      name: 'PostgreSQL has a tenth of its time',
      hits: WITHOUT_DATABASE,
      begin: async () => {
        limping = limp()
      },
      lasts: moves(5),
      end: () => {
        over = true
        return limping
      },
    })
  })

  /**
   * Takes a lock with `statement`, and sends 30 updates of a lead, more than the service has database
   * connections. The updates wait for the lock until `unlock`.
   */
  const lockedChanges = async (statement: (reference: string) => string) => {
    const tenant = await stage.newTenant()
    const { reference } = await tenant.createLead()
    const blocker = new Client({ connectionString: stage.system.databases.leads.url })
    await blocker.connect()
    await blocker.query(`begin; ${statement(reference)}`)
    const change = async () => {
      const path = `/leads/${reference}`
      const { status, headers } = await tenant.client.request('PATCH', path, { json: { value: 5 } })
      return { status, retryAfter: headers['retry-after'] }
    }
    return { changes: Array.from({ length: 30 }, change), unlock: () => blocker.end() }
  }

  test('a locked table: all requests get 503, including the statements that time out', async () => {
    let locked: Awaited<ReturnType<typeof lockedChanges>>
    await suffer({
      name: 'a table of PostgreSQL is locked',
      hits: WITHOUT_DATABASE,
      begin: async () => {
        locked = await lockedChanges(() => 'lock table leads in access exclusive mode')
      },
      lasts: async () => {
        const answers = await Promise.all(locked.changes)
        expect(answers).toEqual(answers.map(() => ({ status: 503, retryAfter: '1' })))
      },
      end: () => locked.unlock(),
    })
  })

  test("a lock on one account's data: no request of another account is refused", async () => {
    let locked: Awaited<ReturnType<typeof lockedChanges>>
    await suffer({
      name: 'all statements of another account wait for a lock',
      hits: [],
      begin: async () => {
        locked = await lockedChanges((lead) => `select from leads where reference = '${lead}' for update`)
      },
      lasts: moves(40),
      end: async () => {
        await locked.unlock()
        await Promise.all(locked.changes)
      },
    })
  })
})

/**
 * Waits until webhook-service reports that it is not ready, because NATS is missing. After that, waits until
 * 20 more leads are accepted.
 */
const withoutNats = async (probes: Probes) => {
  const { health } = stage.system.services.find(({ service }) => service === 'webhook-service')!
  await eventually(async () => expect(await isReady(health)).toBe(false))
  await moves(20)(probes)
}

test.each(
  named(hardships('NATS', () => stage.system.nats, { hits: [], lasts: withoutNats })),
)('%s: nothing is refused', (_name, fault) => suffer(fault))

describe('MinIO', () => {
  test.each(
    named(hardships('MinIO', () => minio!.hardship!, { hits: WITHOUT_STORE })),
  )('%s: only requests for files get 503', async (_name, fault) => {
    if (minio?.hardship) await suffer(fault)
  })

  test('a full disk: uploads get 503 until there is space', async () => {
    const disk = disks.minio
    if (!disk || !minio?.hardship) return
    await suffer({
      name: 'disk of MinIO is full',
      hits: ['attach'],
      begin: () => disk.fill(),
      end: () => disk.clear(),
    })
  })
})
