import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { System, SystemOptions } from '@leadwire/test-kit'

/**
 * Connects to the running system at LEADWIRE_E2E_URL. LEADWIRE_E2E_CLI is the operators' command line of this
 * system, such as `docker compose run --rm -T leadwire`. Specs create accounts with this command line. Specs
 * cannot use processes, logs, databases or NATS of this system.
 */
export async function remoteSystem(baseUrl: string, options: SystemOptions): Promise<System> {
  if (Object.keys(options).length > 0)
    throw new Error('the settings of a system at LEADWIRE_E2E_URL cannot be changed')
  const [command = 'leadwire', ...first] = (process.env['LEADWIRE_E2E_CLI'] ?? '').split(' ')
  const run = async (...words: string[]) => {
    const { stdout } = await promisify(execFile)(command, [...first, ...words, '--json'])
    return JSON.parse(stdout)
  }
  const createAccount: System['createAccount'] = async (name) => {
    const { token, ...account } = await run('accounts', 'create', '--name', name)
    return { account, token }
  }
  const createSignInLink: System['createSignInLink'] = async ({ accountId, userId }) => {
    const ids = ['--account', String(accountId), '--id', String(userId)]
    return (await run('users', 'sign-in-link', ...ids, '--url', baseUrl)).url
  }
  const functions = { createAccount, createSignInLink, stop: async () => {} }
  const known = { baseUrl, ...(await createAccount('Spec')), ...functions }
  return known as unknown as System
}
