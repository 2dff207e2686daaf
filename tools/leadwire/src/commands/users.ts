import { oneLine, type User } from '@leadwire/contracts'
import type { Command } from 'commander'
import { does, id } from './run'

const userOutput = ({ id, email, name, createdAt, removedAt }: User) => ({
  ...{ id, email, name },
  created_at: createdAt,
  removed_at: removedAt ?? null,
})

const named = (command: Command) =>
  command.requiredOption('--account <id>', 'the account', id).requiredOption('--id <id>', 'the user', id)

/** `leadwire users …` */
export const addUsers = (program: Command): void => {
  const users = program.command('users').description('people leads and appointments are assigned to')

  does<{ account: number; email: string; name: string }>(
    users
      .command('create')
      .description('make a user')
      .requiredOption('--account <id>', 'the account', id)
      .requiredOption('--email <email>', 'the e-mail address, once per account')
      .requiredOption('--name <name>', 'the full name', oneLine),
    async ({ accounts }, { account, email, name }) =>
      userOutput((await accounts.createUser({ accountId: account, email, name })).user!),
  )

  does<{ account: number }>(
    users.command('list').description('every user').requiredOption('--account <id>', 'the account', id),
    async ({ accounts }, { account }) =>
      (await accounts.listUsers({ accountId: account })).users.map(userOutput),
  )

  does<{ account: number; id: number; email?: string; name?: string }>(
    named(users.command('update').description('change what is given of a user'))
      .option('--email <email>', 'the e-mail address, once per account')
      .option('--name <name>', 'the full name', oneLine),
    async ({ accounts }, { account, id, email, name }) =>
      userOutput((await accounts.updateUser({ accountId: account, userId: id, email, name })).user!),
  )

  does<{ account: number; id: number }>(
    named(users.command('remove').description('assign nothing more to a user, and free the e-mail address')),
    async ({ accounts }, { account, id }) =>
      userOutput((await accounts.removeUser({ accountId: account, userId: id })).user!),
  )
}
