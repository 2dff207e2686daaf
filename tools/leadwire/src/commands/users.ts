import type { User } from '@leadwire/contracts'
import { CreateUser, UpdateUser } from '@leadwire/requests'
import type { Command } from 'commander'
import { checkFields } from './check-fields'
import { addAction, listAll, parseId } from './run'

const renderUser = ({ id, email, name, createdAt, removedAt }: User) => ({
  id,
  email,
  name,
  created_at: createdAt,
  removed_at: removedAt ?? null,
})

const addIds = (command: Command) =>
  command
    .requiredOption('--account <id>', 'the account', parseId)
    .requiredOption('--id <id>', 'the user', parseId)

/** Adds `leadwire users …`. */
export const addUsers = (program: Command): void => {
  const users = program
    .command('users')
    .description('manage users, to whom leads and appointments are assigned')

  addAction<{ account: number; email: string; name: string }>(
    users
      .command('create')
      .description('create a user')
      .requiredOption('--account <id>', 'the account', parseId)
      .requiredOption('--email <email>', 'the e-mail address, unique in the account')
      .requiredOption('--name <name>', 'the full name'),
    async ({ accounts }, { account: accountId, email, name }) => {
      const fields = checkFields(CreateUser, { email, name })
      return renderUser((await accounts.createUser({ accountId, ...fields })).user!)
    },
  )

  addAction<{ account: number }>(
    users
      .command('list')
      .description('list all users')
      .requiredOption('--account <id>', 'the account', parseId),
    async ({ accounts }, { account }) => {
      const users = await listAll(async (request) => {
        const page = await accounts.listUsers({ accountId: account, ...request })
        return { items: page.users, nextAfter: page.nextAfter }
      })
      return users.map(renderUser)
    },
  )

  addAction<{ account: number; id: number; email?: string; name?: string }>(
    addIds(users.command('update').description('change the given fields of a user'))
      .option('--email <email>', 'the e-mail address, unique in the account')
      .option('--name <name>', 'the full name'),
    async ({ accounts }, { account: accountId, id: userId, email, name }) => {
      const fields = checkFields(UpdateUser, { email, name })
      return renderUser((await accounts.updateUser({ accountId, userId, ...fields })).user!)
    },
  )

  addAction<{ account: number; id: number }>(
    addIds(
      users.command('remove').description('remove a user from new assignments, and free the e-mail address'),
    ),
    async ({ accounts }, { account, id }) =>
      renderUser((await accounts.removeUser({ accountId: account, userId: id })).user!),
  )
}
