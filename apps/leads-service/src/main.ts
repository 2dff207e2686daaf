import { runService } from '@leadwire/service-kit/runtime'
import { readLeadsConfig } from './config'

void runService({
  name: 'leads-service',
  readConfig: readLeadsConfig,
  start: async (context) =>
    void (await (await import('./start-leads-service.js')).startLeadsService(context)),
  migrate: async (context) => (await import('./database/migrations/index.js')).migrateDatabase(context),
})
