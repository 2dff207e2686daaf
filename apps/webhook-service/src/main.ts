import { runService } from '@leadwire/service-kit'
import { systemClock } from './clock'
import { readWebhookConfig } from './config'
import { startWebhookService } from './start-webhook-service'

void runService({
  name: 'webhook-service',
  readConfig: readWebhookConfig,
  start: async (context) => void (await startWebhookService(context, systemClock)),
})
