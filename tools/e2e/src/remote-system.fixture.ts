import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { System, SystemOptions } from '@leadwire/test-kit'

/**
 * A system that runs already and is known by its address alone (LEADWIRE_E2E_URL). Accounts come from the operators' command line:
 * LEADWIRE_E2E_CLI is the command, such as `docker compose run --rm -T leadwire`. It serves specs that need no more than that:
 * there are no processes, logs, databases and NATS.
 */
export async function remoteSystem(baseUrl: string, options: SystemOptions): Promise<System> {
  if (Object.keys(options).length > 0)
    throw new Error('a system known by its address has the settings it has')
  const [command = 'leadwire', ...first] = (process.env['LEADWIRE_E2E_CLI'] ?? '').split(' ')
  const createAccount: System['createAccount'] = async (name) => {
    const { stdout } = await promisify(execFile)(command, [
      ...first,
      ...['accounts', 'create', '--name', name, '--json'],
    ])
    const { token, ...account } = JSON.parse(stdout)
    return { account, token }
  }
  const known = { baseUrl, ...(await createAccount('Spec')), createAccount, stop: async () => {} }
  return known as unknown as System
}
