import { FilesServiceDefinition } from '@leadwire/contracts'
import {
  createGrpcServer,
  createMetrics,
  runService,
  startHealthServer,
  untilSuccess,
} from '@leadwire/service-kit'
import { readFilesConfig } from './config'
import { createFilesMetrics } from './files/files-metrics'
import { createFilesService } from './files/files-service'
import { sweepSpool } from './files/sweep-spool'
import { openStore } from './store/open-store'

void runService({
  name: 'files-service',
  readConfig: readFilesConfig,
  start: async ({ config, logger, lifecycle }) => {
    const metrics = createMetrics('files-service')
    const store = openStore(config)
    let listening = false
    const checks = [
      { name: 'store', check: () => store.check() },
      {
        name: 'grpc',
        check: async () => {
          if (!listening) throw new Error('not listening yet')
        },
      },
    ]
    await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, checks, metrics, lifecycle })
    await untilSuccess(() => store.prepare(), {
      signal: lifecycle.signal,
      pauseMs: 500,
      onFailure: (error) => logger.warn({ err: error }, 'the store is away'),
    })
    const removed = await sweepSpool(store.spoolFolder, Date.now)
    if (removed > 0) logger.info({ removed }, 'removed what interrupted uploads had left')
    const service = createFilesService({ store, metrics: createFilesMetrics(metrics), logger })
    lifecycle.onStop('uploads', () => service.settled())
    const server = createGrpcServer({ logger, lifecycle, longCalls: true, checks })
    server.add(FilesServiceDefinition, service.implementation)
    await server.listen({ host: config.HOST, port: config.GRPC_PORT })
    listening = true
  },
})
