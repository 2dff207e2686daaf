import { runService } from '@leadwire/service-kit/runtime'
import { readWebhookConfig } from './config'

void runService({
  name: 'webhook-service',
  readConfig: readWebhookConfig,
  start: async (context) => {
    const { startWebhookService } = await import('./start-webhook-service.js')
    await startWebhookService(context)
  },
  migrate: async (context) => (await import('./migrations/index.js')).migrateDatabase(context),
})
