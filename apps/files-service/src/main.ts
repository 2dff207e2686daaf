import { runService } from '@leadwire/service-kit/runtime'
import { readFilesConfig } from './config'

void runService({
  name: 'files-service',
  readConfig: readFilesConfig,
  start: async (context) => (await import('./start-files-service.js')).startFilesService(context),
})
