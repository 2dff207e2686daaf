import { ROLES, type User } from '@leadwire/contracts'
import { CreateUser, UpdateUser } from '@leadwire/requests'
import { type Command, Option } from 'commander'
import { findConsoleUrl } from '../connection'
import { checkFields } from './check-fields'
import { addAction, addUrlOption, listAll, parseId } from './run'

const renderUser = ({ id, email, name, role, createdAt, removedAt }: User) => ({
  id,
  email,
  name,
  role: role ?? null,
  created_at: createdAt,
  removed_at: removedAt ?? null,
})

/** Takes the role of a user away. */
const NO_ROLE = 'none'

const addIds = (command: Command) =>
  command
    .requiredOption('--account <id>', 'the account', parseId)
    .requiredOption('--id <id>', 'the user', parseId)

/** Adds the role, and the address in the invitation that a user with a role gets. */
const addRoleOptions = (command: Command, description: string, roles: readonly string[]) =>
  addUrlOption(command.addOption(new Option('--role <role>', description).choices(roles)))

/** Returns the address for the invitation, if the command gives a role. */
const findInvitationUrl = (role: string | undefined, url: string | undefined) =>
  role ? findConsoleUrl(process.env, url) : undefined

/** Adds `leadwire users …`. */
export const addUsers = (program: Command): void => {
  const users = program
    .command('users')
    .description('manage users, to whom leads and appointments are assigned, and who sign in to the console')

  addAction<{ account: number; email: string; name: string; role?: string; url?: string }>(
    addRoleOptions(
      users
        .command('create')
        .description('create a user; a user with a role is invited by e-mail')
        .requiredOption('--account <id>', 'the account', parseId)
        .requiredOption('--email <email>', 'the e-mail address, unique in the account')
        .requiredOption('--name <name>', 'the full name'),
      'what the user may do after signing in; without a role, the user cannot sign in',
      ROLES,
    ),
    async ({ accounts }, { account: accountId, email, name, role, url }) => {
      const fields = { ...checkFields(CreateUser, { email, name }), role }
      const consoleUrl = findInvitationUrl(role, url)
      return renderUser((await accounts.createUser({ accountId, ...fields, consoleUrl })).user!)
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

  addAction<{ account: number; id: number; email?: string; name?: string; role?: string; url?: string }>(
    addRoleOptions(
      addIds(users.command('update').description('change the given fields of a user'))
        .option('--email <email>', 'the e-mail address, unique in the account')
        .option('--name <name>', 'the full name'),
      'what the user may do after signing in; none: the user cannot sign in. A change ends the sessions of the user',
      [...ROLES, NO_ROLE],
    ),
    async ({ accounts }, { account: accountId, id: userId, email, name, role: given, url }) => {
      const role = given === NO_ROLE ? '' : given
      const fields = { ...checkFields(UpdateUser, { email, name }), role }
      const consoleUrl = findInvitationUrl(role, url)
      return renderUser((await accounts.updateUser({ accountId, userId, ...fields, consoleUrl })).user!)
    },
  )

  addAction<{ account: number; id: number; url?: string }>(
    addUrlOption(
      addIds(
        users
          .command('sign-in-link')
          .description('print a link with which a user signs in; it works once, within 15 minutes'),
      ),
    ),
    async ({ accounts }, { account: accountId, id: userId, url }) => {
      const consoleUrl = findConsoleUrl(process.env, url)
      const { url: link } = await accounts.createSignInLink({ accountId, userId, consoleUrl })
      return { url: link }
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
