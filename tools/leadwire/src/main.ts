import { limitAddresses, VERSION } from '@leadwire/service-kit'
import { Command } from 'commander'
import { addAccounts } from './commands/accounts'
import { addDeliveries } from './commands/deliveries'
import { addEndpointCare } from './commands/endpoint-care'
import { addEndpoints } from './commands/endpoints'
import { addExport } from './commands/export'
import { addFigures } from './commands/figures'
import { addImport } from './commands/import'
import { addListen } from './commands/listen'
import { addOutbox } from './commands/outbox'
import { addReconcile } from './commands/reconcile'
import { explain } from './commands/run'
import { addTokens } from './commands/tokens'
import { addTrigger } from './commands/trigger'
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
addTrigger(program)
addImport(program)
addExport(program)
addReconcile(program)
addFigures(program)
addOutbox(program)

/** The options of the running command. */
let options: string[] = []
program.hook('preAction', (_, command) => {
  options = command.options.flatMap(({ long }) => long ?? [])
})
const fail = (error: unknown) => {
  process.stderr.write(`leadwire: ${explain(error, options)}\n`)
  process.exitCode = 1
}
// Ignores a closed pipe: a reader such as head closes the pipe when it needs no more output.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') fail(error)
})
program.parseAsync().catch(fail)
