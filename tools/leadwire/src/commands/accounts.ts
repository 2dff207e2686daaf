import { type Account, type AccountDeletion, oneLine } from '@leadwire/contracts'
import type { Command } from 'commander'
import { does, id } from './run'

const accountOutput = ({ id, name, apiKey, createdAt, suspendedAt }: Account) => ({
  ...{ id, name, api_key: apiKey, created_at: createdAt },
  suspended_at: suspendedAt ?? null,
})

const deletionOutput = ({ accountId, requestedAt, finishedAt, leads, removedLeads }: AccountDeletion) => ({
  account_id: accountId,
  status: finishedAt === undefined ? 'running' : 'done',
  ...{ requested_at: requestedAt, finished_at: finishedAt ?? null, leads, removed_leads: removedLeads },
})

const named = (command: Command) => command.requiredOption('--account <id>', 'the account', id)

/** `leadwire accounts …`: what only operators may do. */
export const addAccounts = (program: Command): void => {
  const accounts = program
    .command('accounts')
    .alias('account')
    .description('the businesses whose leads are stored')

  does<{ name: string }>(
    accounts
      .command('create')
      .description('make an account; prints its id, its API key and a first token, which is shown this once')
      .requiredOption('--name <name>', 'what it is called', oneLine),
    async (connection, { name }) => {
      const { account, secret } = await connection.accounts.createAccount({ name })
      return { id: account!.id, api_key: account!.apiKey, token: secret }
    },
  )

  does(accounts.command('list').description('every account'), async (connection) => {
    const response = await connection.accounts.listAccounts({})
    return response.accounts.map(accountOutput)
  })

  // Each of the two calls may be repeated: a command that failed in between is given again.
  does<{ account: number }>(
    named(
      accounts.command('suspend').description('refuse the tokens of an account, and hold its deliveries'),
    ),
    async (connection, { account: accountId }) => {
      const { account } = await connection.accounts.suspendAccount({ accountId })
      await connection.webhooks.holdAccount({ accountId, held: true })
      return accountOutput(account!)
    },
  )

  does<{ account: number }>(
    named(accounts.command('resume').description('end the suspension of an account; what was held goes on')),
    async (connection, { account: accountId }) => {
      const { account } = await connection.accounts.resumeAccount({ accountId })
      await connection.webhooks.holdAccount({ accountId, held: false })
      return accountOutput(account!)
    },
  )

  does<{ account: number; confirm: string }>(
    named(accounts.command('delete').description('delete an account and all that is held of it, for good'))
      // Nobody deletes another one by a slip of the fingers.
      .requiredOption('--confirm <name>', 'the name of the account'),
    async (connection, { account: accountId, confirm: name }) => {
      const { deletion } = await connection.accounts.deleteAccount({ accountId, name })
      await connection.webhooks.holdAccount({ accountId, held: true })
      return deletionOutput(deletion!)
    },
  )

  does<{ account: number }>(
    named(accounts.command('deletion').description('how the deletion of an account fares')),
    async (connection, { account: accountId }) =>
      deletionOutput((await connection.accounts.retrieveAccountDeletion({ accountId })).deletion!),
  )
}
