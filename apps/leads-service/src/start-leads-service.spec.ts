import {
  AccountsServiceDefinition,
  type CreateLeadsRequest,
  Event,
  LEADS_STREAM,
  LeadsServiceDefinition,
  WebhooksServiceDefinition,
  type WebhooksServiceImplementation,
} from '@leadwire/contracts'
import {
  connectBatches,
  connectDatabase,
  connectGrpc,
  connectNats,
  createGrpcServer,
  createLifecycle,
  createLogger,
  type Lifecycle,
} from '@leadwire/service-kit'
import { createDatabase, eventually, freePort, startNats } from '@leadwire/test-kit'
import { jetstreamManager } from '@nats-io/jetstream'
import { readLeadsConfig } from './config'
import { holdAccount, newItem, readOutcomes } from './leads-service.fixture'
import { startLeadsService } from './start-leads-service'

const logger = createLogger({ service: 'spec', level: 'silent' })
const SERVICE_TOKEN = 'a-token-for-this-spec'

let stop = async () => {}
afterEach(async () => {
  jest.restoreAllMocks()
  await stop()
})

/** Starts a whole leads-service in this process, with the servers that it needs. */
const startScene = async () => {
  const database = await createDatabase({ name: 'whole' })
  const nats = await startNats()
  const [grpcPort, healthPort] = [await freePort(), await freePort()]
  const lifecycle = createLifecycle(logger)
  const own = createLifecycle(logger)
  const start = (webhookService = '127.0.0.1:9') =>
    startLeadsService({
      config: readLeadsConfig({
        GRPC_PORT: String(grpcPort),
        HEALTH_PORT: String(healthPort),
        DATABASE_URL: database.url,
        SERVICE_TOKEN,
        ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
        NATS_URL: nats.url,
        ASSETS_URL: 'https://assets.test',
        WEBHOOK_SERVICE_URL: webhookService,
        FILES_SERVICE_URL: 'http://127.0.0.1:9',
        // Disables the reports of suspected duplicates, because all leads of this spec are of one person.
        DUPLICATE_WINDOW: '0s',
      }),
      logger,
      lifecycle,
    })
  const target = `127.0.0.1:${grpcPort}`
  const caller = { lifecycle: own, tokens: [SERVICE_TOKEN] }
  const createLeads = connectBatches(target, caller).method(LeadsServiceDefinition, 'createLeads')
  stop = async () => {
    await lifecycle.stop()
    await own.stop()
    await nats.stop()
    await database.drop()
  }
  return {
    nats,
    lifecycle,
    own,
    start,
    db: connectDatabase({ url: database.url, poolSize: 3, lifecycle: own }),
    grpc: connectGrpc(target, caller),
    createLeads: (batch: CreateLeadsRequest) => createLeads(batch, Date.now() + 20_000),
    accounts: connectGrpc(target, caller).client(AccountsServiceDefinition, { deadlineMs: 20_000 }),
    metrics: async () => {
      // Keeps no connection alive, because the server might close it while the next request is being sent.
      const headers = { connection: 'close' }
      return (await fetch(`http://127.0.0.1:${healthPort}/metrics`, { headers })).text()
    },
  }
}

type Scene = Awaited<ReturnType<typeof startScene>>

const newAccountId = async ({ accounts }: Scene) =>
  (await accounts.createAccount({ name: 'Clear Windows' })).account!.id

const create = async ({ createLeads }: Scene, accountId: number) =>
  readOutcomes(await createLeads({ leads: [newItem(accountId)] }))[0]

const streamed = async ({ nats, own }: Scene) => {
  const connection = await connectNats({
    config: { NATS_URL: nats.url },
    name: 'spec',
    logger,
    lifecycle: own,
  })
  const manager = await jetstreamManager(connection)
  const { state } = await manager.streams.info(LEADS_STREAM.name)
  const message = await manager.streams.getMessage(LEADS_STREAM.name, { seq: state.last_seq })
  return Event.decode(message!.data).leadReference
}

test('a drain answers the last create and publishes it, also where NATS came after the server', async () => {
  const scene = await startScene()
  await scene.nats.kill()
  await scene.start()
  const accountId = await newAccountId(scene)
  await create(scene, accountId)
  await scene.nats.restart()
  await eventually(async () => {
    const { reference } = await create(scene, accountId)
    expect(await streamed(scene)).toBe(reference)
  })

  // Uses a separate account, so that only `last` waits for the lock on the account.
  const heldId = await newAccountId(scene)
  const { release, waiters } = await holdAccount(scene, heldId)
  const last = create(scene, heldId)
  await eventually(async () => expect(await waiters()).toBe(1))
  const stopped = scene.lifecycle.stop()
  await release()
  const { reference } = await last
  await stopped
  // The stream stores the message a moment after NATS has received it.
  await eventually(async () => expect(await streamed(scene)).toBe(reference))
  expect(await streamed(scene)).toBe(reference)
})

/** Starts a webhook-service that takes calls and never responds. */
const startSilence = async (lifecycle: Lifecycle) => {
  const called = new Set<string>()
  const server = createGrpcServer({ lifecycle, logger, tokens: [SERVICE_TOKEN] })
  const silent = Object.keys(WebhooksServiceDefinition.methods).map((name) => [
    name,
    (_: unknown, { signal }: { signal: AbortSignal }) => {
      called.add(name)
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  ])
  server.add(WebhooksServiceDefinition, Object.fromEntries(silent) as WebhooksServiceImplementation)
  const port = await server.listen({ host: '127.0.0.1', port: 0 })
  return { url: `127.0.0.1:${port}`, called }
}

test('a drain waits for no answer of webhook-service, which may be stopped at the same time', async () => {
  const scene = await startScene()
  const silence = await startSilence(scene.own)
  await scene.start(silence.url)
  await create(scene, await newAccountId(scene))
  await scene.db.query({ text: 'UPDATE outbox SET next_check_at = clock_timestamp()' })
  await eventually(async () =>
    expect([...silence.called]).toEqual(expect.arrayContaining(['findStoredEvents', 'listFailingEndpoints'])),
  )
  const warn = jest.spyOn(logger, 'warn')
  await scene.lifecycle.stop()
  // If the drain had waited for the calls, they would have failed at their deadline, and the rounds would
  // have logged warnings.
  expect(warn).not.toHaveBeenCalled()
})

const figure = (metrics: string, name: string) =>
  Number(new RegExp(`^${name}{[^}]*} (\\S+)$`, 'm').exec(metrics)?.[1])

test('metrics tell what waits in the outbox, for how long, and what was refused', async () => {
  const scene = await startScene()
  await scene.start()
  const accountId = await newAccountId(scene)
  const figures = async () => {
    const metrics = await scene.metrics()
    const names = ['events', 'oldest_seconds', 'refused_events']
    return names.map((name) => figure(metrics, `leadwire_outbox_${name}`))
  }
  expect(await figures()).toEqual([0, 0, 0])
  for (let count = 0; count < 3; count += 1) await create(scene, accountId)
  const [waiting, age, refused] = await figures()
  expect([waiting, refused]).toEqual([3, 0])
  expect(age).toBeLessThan(60)
  await scene.db.query({
    text: `UPDATE outbox SET created_at = created_at - number * interval '1 minute',
        publish_count = number, next_check_at = CASE WHEN number < 3 THEN next_check_at + interval '1 minute' END,
        refusal = CASE WHEN number = 3 THEN 'a broken part' END
      FROM (SELECT event_id AS id, row_number() OVER (ORDER BY created_at) AS number FROM outbox) numbered
      WHERE id = event_id`,
  })
  const [left, oldest, deadLetters] = await figures()
  expect([left, deadLetters]).toEqual([2, 1])
  expect(oldest).toBeGreaterThanOrEqual(120)
  expect(oldest).toBeLessThan(180)
  expect(await scene.metrics()).toMatch(/^leadwire_clock_difference_seconds{[^}]*} -?\d/m)
  await scene.db.query({ text: 'ALTER TABLE outbox RENAME TO elsewhere' })
  // While the query of the metrics fails, the gauges keep their last values.
  expect((await figures()).slice(0, 1)).toEqual([2])
})
