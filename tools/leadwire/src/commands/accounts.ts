import type { Command } from 'commander'
import { does } from './run'

/** `leadwire accounts …`: what only operators may do. */
export const addAccounts = (program: Command): void => {
  const accounts = program.command('accounts').description('the businesses whose leads are stored')

  does<{ name: string }>(
    accounts
      .command('create')
      .description('make an account; prints its id, its API key and a first token, which is shown this once')
      .requiredOption('--name <name>', 'what it is called'),
    async (connection, { name }) => {
      const { account, secret } = await connection.accounts.createAccount({ name })
      return { id: account!.id, api_key: account!.apiKey, token: secret }
    },
  )

  does(accounts.command('list').description('every account'), async (connection) => {
    const response = await connection.accounts.listAccounts({})
    return response.accounts.map(({ id, name, apiKey, createdAt }) => ({
      id,
      name,
      api_key: apiKey,
      created_at: createdAt,
    }))
  })
}
