import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { serviceCommand } from '@leadwire/test-kit'

/** Brings a database to the schema of this release, as a deployment does before services are replaced. */
export const migrate = async (
  service: 'leads-service' | 'webhook-service',
  env: NodeJS.ProcessEnv,
): Promise<void> => {
  const { command, args } = serviceCommand(service, ['--migrate'])
  const child = spawn(command, args, { env, stdio: ['ignore', 'ignore', 'inherit'] })
  expect(await once(child, 'exit')).toEqual([0, null])
}
