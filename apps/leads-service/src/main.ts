import { WebhooksServiceDefinition } from '@leadwire/contracts'
import {
  connectDatabase,
  connectGrpc,
  connectNats,
  createGrpcServer,
  createMetrics,
  migrate,
  runService,
  startHealthServer,
  untilSuccess,
} from '@leadwire/service-kit'
import { addLeadsService } from './add-leads-service'
import { readLeadsConfig } from './config'
import { migrations } from './migrations'
import { publishTo } from './outbox/publish'
import { type Relay, startRelay } from './outbox/relay'
import { startSweep } from './outbox/sweep'

void runService({
  name: 'leads-service',
  readConfig: readLeadsConfig,
  start: async ({ config, logger, lifecycle }) => {
    const database = connectDatabase({
      url: config.DATABASE_URL,
      poolSize: config.DATABASE_POOL_SIZE,
      lifecycle,
    })
    let serving = false
    await startHealthServer({
      host: config.HOST,
      port: config.HEALTH_PORT,
      metrics: createMetrics('leads-service'),
      lifecycle,
      checks: [
        { name: 'postgres', check: () => database.check() },
        { name: 'start', check: async () => (serving ? undefined : Promise.reject(new Error('starting'))) },
      ],
    })
    await untilSuccess(() => migrate(database.knex, migrations), {
      signal: lifecycle.signal,
      pauseMs: 250,
      onFailure: (error) => logger.warn({ err: error }, 'could not migrate yet'),
    })

    const webhooks = connectGrpc(config.WEBHOOK_SERVICE_URL, lifecycle).client(WebhooksServiceDefinition, {
      deadlineMs: 5000,
    })
    const findHeldEvents = async (eventIds: string[]) =>
      (await webhooks.findHeldEvents({ eventIds })).eventIds
    // NATS may come later: events wait in the outbox, and requests are served meanwhile.
    let handOver: Relay['handOver'] = () => {}
    void connectNats({ url: config.NATS_URL, name: 'leads-service', logger, lifecycle }).then(
      (connection) => {
        handOver = startRelay({ database, publish: publishTo(connection), logger, lifecycle }).handOver
        startSweep({ database, findHeldEvents, logger, lifecycle })
      },
    )

    const server = createGrpcServer({ logger, lifecycle })
    addLeadsService(server, {
      database,
      assetsUrl: config.ASSETS_URL.replace(/\/$/, ''),
      logger,
      onCommitted: (events) => handOver(events),
    })
    await server.listen({ host: config.HOST, port: config.GRPC_PORT })
    serving = true
  },
})
