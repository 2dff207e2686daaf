import { runService } from '@leadwire/service-kit'
import { readLeadsConfig } from './config'
import { startLeadsService } from './start-leads-service'

void runService({
  name: 'leads-service',
  readConfig: readLeadsConfig,
  start: async (context) => void (await startLeadsService(context)),
})
