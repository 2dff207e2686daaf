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
import { holdAccount, newItem, outcomesOf } from './leads-service.fixture'
import { startLeadsService } from './start-leads-service'

const logger = createLogger({ service: 'spec', level: 'silent' })
const SERVICE_TOKEN = 'a-token-for-this-spec'

let stop = async () => {}
afterEach(async () => {
  jest.restoreAllMocks()
  await stop()
})

/** A whole leads-service in this process, and what it stands on. */
const startScene = async () => {
  const database = await createDatabase({ name: 'whole' })
  const nats = await startNats()
  const [grpcPort, healthPort] = [await freePort(), await freePort()]
  const lifecycle = createLifecycle(logger)
  const own = createLifecycle(logger)
  const start = (webhookService = '127.0.0.1:9') =>
    startLeadsService({
      config: readLeadsConfig({
        ...{ GRPC_PORT: String(grpcPort), HEALTH_PORT: String(healthPort), DATABASE_URL: database.url },
        SERVICE_TOKEN,
        ENCRYPTION_KEYS: Buffer.alloc(32, 7).toString('base64'),
        ...{ NATS_URL: nats.url, ASSETS_URL: 'https://assets.test', WEBHOOK_SERVICE_URL: webhookService },
        FILES_SERVICE_URL: 'http://127.0.0.1:9',
        // All leads are of one person.
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
    ...{ nats, lifecycle, own, start },
    db: connectDatabase({ url: database.url, poolSize: 3, lifecycle: own }),
    grpc: connectGrpc(target, caller),
    createLeads: (batch: CreateLeadsRequest) => createLeads(batch, Date.now() + 20_000),
    accounts: connectGrpc(target, caller).client(AccountsServiceDefinition, { deadlineMs: 20_000 }),
    metrics: async () => (await fetch(`http://127.0.0.1:${healthPort}/metrics`)).text(),
  }
}

type Scene = Awaited<ReturnType<typeof startScene>>

const newAccountId = async ({ accounts }: Scene) =>
  (await accounts.createAccount({ name: 'Clear Windows' })).account!.id

const create = async ({ createLeads }: Scene, accountId: number) =>
  outcomesOf(await createLeads({ leads: [newItem(accountId)] }))[0]

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

  // Of its own, so that nothing else waits for it.
  const heldId = await newAccountId(scene)
  const { release, waiters } = await holdAccount(scene, heldId)
  const last = create(scene, heldId)
  await eventually(async () => expect(await waiters()).toBe(1))
  const stopped = scene.lifecycle.stop()
  await release()
  const { reference } = await last
  await stopped
  expect(await streamed(scene)).toBe(reference)
  expect(await streamed(scene)).toBe(reference)
})

/** A webhook-service that takes calls and answers none of them. */
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
  await eventually(async () =>
    expect([...silence.called]).toEqual(expect.arrayContaining(['findStoredEvents', 'listFailingEndpoints'])),
  )
  const warn = jest.spyOn(logger, 'warn')
  await scene.lifecycle.stop()
  // A call that was waited for would have failed at its deadline, and its round would have told of it.
  expect(warn).not.toHaveBeenCalled()
})

const figure = (metrics: string, name: string, state: string) =>
  Number(new RegExp(`^${name}{[^}]*state="${state}"[^}]*} (\\S+)$`, 'm').exec(metrics)?.[1])

test('metrics tell what waits in the outbox, and for how long', async () => {
  const scene = await startScene()
  await scene.nats.kill()
  await scene.start()
  const accountId = await newAccountId(scene)
  for (const state of ['unpublished', 'unconfirmed']) {
    expect(figure(await scene.metrics(), 'leadwire_outbox_events', state)).toBe(0)
    expect(figure(await scene.metrics(), 'leadwire_outbox_oldest_seconds', state)).toBe(0)
  }
  await create(scene, accountId)
  await create(scene, accountId)
  await scene.db.query({
    text: `UPDATE outbox SET created_at = created_at - interval '1 minute', published_at = NULL`,
  })
  const waiting = await scene.metrics()
  expect(figure(waiting, 'leadwire_outbox_events', 'unpublished')).toBe(2)
  expect(figure(waiting, 'leadwire_outbox_oldest_seconds', 'unpublished')).toBeGreaterThanOrEqual(60)
  await scene.nats.restart()
  await eventually(async () => {
    const metrics = await scene.metrics()
    expect(figure(metrics, 'leadwire_outbox_events', 'unpublished')).toBe(0)
    expect(figure(metrics, 'leadwire_outbox_events', 'unconfirmed')).toBe(2)
    expect(figure(metrics, 'leadwire_outbox_oldest_seconds', 'unconfirmed')).toBeGreaterThanOrEqual(60)
  })
  await scene.db.query({ text: 'ALTER TABLE outbox RENAME TO elsewhere' })
  // While the query fails, the last figures stay.
  expect(figure(await scene.metrics(), 'leadwire_outbox_events', 'unconfirmed')).toBe(2)
})
