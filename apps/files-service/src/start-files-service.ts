import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import {
  createLoops,
  createMetrics,
  drainHttp,
  limitRepeats,
  type ServiceContext,
  startHealthServer,
  untilSuccess,
  type Watched,
  watchAuthorities,
  watchTls,
} from '@leadwire/service-kit'
import { buildFilesServer } from './build-files-server'
import type { Config } from './config'
import { createSpoolSpace } from './files/spool-space'
import { sweepSpool } from './files/spool-upload'
import { createDirectoryStore } from './store/directory-store'
import { type ObjectStore, observeStore } from './store/object-store'
import { createS3Credentials } from './store/s3-credentials'
import { createS3Store } from './store/s3-store'

const SPOOL_SWEEP_INTERVAL_MS = 60_000

const openStore = (config: Config, authorities: Watched<string> | undefined): ObjectStore => {
  const { STORE_URL: location, S3_ENDPOINT, S3_REGION: region } = config
  if (location.kind === 'directory') return createDirectoryStore(location.path)
  const credentials = createS3Credentials(config)
  return createS3Store({
    bucket: location.bucket,
    endpoint: S3_ENDPOINT!,
    credentials,
    region,
    authorities,
    spoolFolder: tmpdir(),
  })
}

export const startFilesService = async ({
  config,
  logger,
  lifecycle,
}: ServiceContext<Config>): Promise<void> => {
  const metrics = createMetrics('files-service')
  const authorities = watchAuthorities(config.S3_CA_FILE, { lifecycle, logger })
  const store = observeStore(openStore(config, authorities), metrics)
  const space = createSpoolSpace(config.SPOOL_MAX_BYTES)
  const app = buildFilesServer({
    store,
    space,
    registry: metrics,
    logger,
    lifecycle,
    tokens: () => config.SERVICE_TOKEN,
    tls: watchTls(config, { lifecycle, logger }),
  })
  const checks = [
    { name: 'store', check: () => store.check() },
    { name: 'http server', check: async () => assert(app.server.listening) },
  ]
  await startHealthServer({ host: config.HOST, port: config.HEALTH_PORT, checks, metrics, lifecycle })
  const failures = limitRepeats(logger)
  await untilSuccess(() => store.prepare(), {
    signal: lifecycle.signal,
    pauseMs: 500,
    onFailure: (error) => failures.warn({ err: error }, 'the store is unavailable'),
  })
  const loops = createLoops(logger)
  loops.run('spool', SPOOL_SWEEP_INTERVAL_MS, async () => {
    const removed = await sweepSpool(store.spoolFolder, space, Date.now)
    if (removed > 0) logger.info({ removed }, 'removed the files of interrupted uploads')
    return false
  })
  lifecycle.onStop('loops', loops.stop)
  await app.listen({ host: config.HOST, port: config.HTTP_PORT })
  lifecycle.onStop('http server', async () => {
    await drainHttp(app.server)
    await app.close()
  })
}
