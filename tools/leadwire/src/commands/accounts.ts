import type { Account, AccountDeletion } from '@leadwire/contracts'
import { CreateAccount, CreateUser } from '@leadwire/requests'
import type { Command } from 'commander'
import { findConsoleUrl } from '../connection'
import { checkFields } from './check-fields'
import { addAction, addUrlOption, parseId } from './run'

const renderAccount = ({ id, name, apiKey, createdAt, suspendedAt }: Account) => ({
  id,
  name,
  api_key: apiKey,
  created_at: createdAt,
  suspended_at: suspendedAt ?? null,
})

const renderDeletion = ({ accountId, requestedAt, finishedAt, leads, removedLeads }: AccountDeletion) => ({
  account_id: accountId,
  status: finishedAt === undefined ? 'running' : 'done',
  requested_at: requestedAt,
  finished_at: finishedAt ?? null,
  leads,
  removed_leads: removedLeads,
})

const addAccountId = (command: Command) => command.requiredOption('--account <id>', 'the account', parseId)

/** Adds `leadwire accounts …`, the operations that only operators may use. */
export const addAccounts = (program: Command): void => {
  const accounts = program
    .command('accounts')
    .alias('account')
    .description('manage accounts: the businesses whose leads are stored')

  addAction<{ name: string; adminEmail?: string; adminName?: string; url?: string }>(
    addUrlOption(
      accounts
        .command('create')
        .description(
          'create an account; prints its id, its API key and a first token, which is shown only once',
        )
        .requiredOption('--name <name>', 'the name of the account')
        .option('--admin-email <email>', 'invite a first user, with the role admin, by e-mail')
        .option('--admin-name <name>', 'the full name of the first user', 'Admin'),
    ),
    async (connection, { name, adminEmail, adminName, url }) => {
      const fields = checkFields(CreateAccount, { name })
      const admin =
        adminEmail === undefined
          ? undefined
          : {
              ...checkFields(CreateUser, { email: adminEmail, name: adminName }),
              role: 'admin',
              consoleUrl: findConsoleUrl(process.env, url),
            }
      const { account, secret } = await connection.accounts.createAccount(fields)
      const created = { id: account!.id, api_key: account!.apiKey, token: secret }
      if (!admin) return created
      const { user } = await connection.accounts.createUser({ accountId: account!.id, ...admin })
      return { ...created, admin_id: user!.id }
    },
  )

  addAction(accounts.command('list').description('list all accounts'), async (connection) => {
    const response = await connection.accounts.listAccounts({})
    return response.accounts.map(renderAccount)
  })

  // Both calls may be repeated, so the operator can run the command again if it fails between them.
  addAction<{ account: number }>(
    addAccountId(
      accounts.command('suspend').description('reject the tokens of an account, and hold its deliveries'),
    ),
    async (connection, { account: accountId }) => {
      const { account } = await connection.accounts.suspendAccount({ accountId })
      await connection.webhooks.holdAccount({ accountId, held: true })
      return renderAccount(account!)
    },
  )

  addAction<{ account: number }>(
    addAccountId(
      accounts.command('resume').description('end the suspension of an account; held deliveries continue'),
    ),
    async (connection, { account: accountId }) => {
      const { account } = await connection.accounts.resumeAccount({ accountId })
      await connection.webhooks.holdAccount({ accountId, held: false })
      return renderAccount(account!)
    },
  )

  addAction<{ account: number; confirm: string }>(
    addAccountId(accounts.command('delete').description('permanently delete an account with all its data'))
      // Prevents the deletion of another account by a mistyped id.
      .requiredOption('--confirm <name>', 'the name of the account, to confirm'),
    async (connection, { account: accountId, confirm: name }) => {
      const { deletion } = await connection.accounts.deleteAccount({ accountId, name })
      await connection.webhooks.holdAccount({ accountId, held: true })
      return renderDeletion(deletion!)
    },
  )

  addAction<{ account: number }>(
    addAccountId(accounts.command('deletion').description('show the progress of the deletion of an account')),
    async (connection, { account: accountId }) =>
      renderDeletion((await connection.accounts.retrieveAccountDeletion({ accountId })).deletion!),
  )
}
