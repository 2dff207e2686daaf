import { runService } from '@leadwire/service-kit/runtime'
import { readGatewayConfig } from './config'

void runService({
  name: 'gateway',
  readConfig: readGatewayConfig,
  start: async (context) => (await import('./start-gateway.js')).startGateway(context),
})
