import { limitAddresses, VERSION } from '@leadwire/service-kit'
import { Command } from 'commander'
import { addAccounts } from './commands/accounts'
import { addDeliveries } from './commands/deliveries'
import { addEndpointCare } from './commands/endpoint-care'
import { addEndpoints } from './commands/endpoints'
import { addExport } from './commands/export'
import { addImport } from './commands/import'
import { addListen } from './commands/listen'
import { addReconcile } from './commands/reconcile'
import { explain } from './commands/run'
import { addTokens } from './commands/tokens'
import { addUsers } from './commands/users'

limitAddresses()
const program = new Command('leadwire')
  .description('Operates a running Leadwire stack.')
  .version(VERSION)
  .showHelpAfterError()

addAccounts(program)
addTokens(program)
addUsers(program)
addEndpointCare(addEndpoints(program))
addDeliveries(program)
addListen(program)
addImport(program)
addExport(program)
addReconcile(program)

program.parseAsync().catch((error: unknown) => {
  process.stderr.write(`leadwire: ${explain(error)}\n`)
  process.exitCode = 1
})
