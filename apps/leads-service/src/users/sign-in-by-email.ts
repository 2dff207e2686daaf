import { emailForm } from '@leadwire/contracts'
import { type OpenTransaction, ServiceError, statement } from '@leadwire/service-kit'
import type { Dependencies, Operation } from '../operation'
import { lockQuotas } from '../quotas/require-room'
import { createLink, findUsers } from '../sign-in/sign-in-links'
import { insertUser } from './insert-user'

// Long enough to choose one of several accounts.
const LINK_MINUTES = 5

const findAccount = statement<{ isSuspended: boolean; hasUser: boolean }>('find-account-to-join')`
  SELECT suspended_at IS NOT NULL AS "isSuspended", EXISTS (
    SELECT FROM users WHERE account_id = $1 AND lower(email) = lower($2) AND removed_at IS NULL
  ) AS "hasUser"
  FROM accounts WHERE id = $1`

/**
 * Creates a user, unless the account has a user with this e-mail address. Such a user may have lost the role,
 * and then cannot sign in. Throws `not_found` if the account does not exist.
 */
const createUnknownUser = async (
  tx: OpenTransaction,
  deps: Dependencies,
  user: { accountId: number; email: string; name: string; role: string },
): Promise<void> => {
  // Locks before the search, so that two sign-ins at the same time do not both create the user.
  lockQuotas.send(tx, user.accountId)
  const [account] = await findAccount(tx, user.accountId, user.email)
  if (!account) throw new ServiceError('not_found', 'There is no such account.')
  if (account.isSuspended || account.hasUser) return
  await insertUser(tx, deps, user)
}

/**
 * Creates a link for each account in which a user with the e-mail address may sign in. The number of links is
 * not limited, because the caller has verified that the person has this e-mail address and uses this browser.
 */
export const signInByEmail: Operation<'signInByEmail'> = (deps, request) =>
  deps.database.transaction(async (tx) => {
    const { name, browserHash, consoleUrl, role, createInAccountId } = request
    const email = emailForm(request.email)
    if (role !== undefined && createInAccountId !== undefined)
      await createUnknownUser(tx, deps, { accountId: createInAccountId, email, name, role })
    const links = []
    for (const { accountId, accountName, userId } of await findUsers(tx, email)) {
      const link = { accountId, userId, minutes: LINK_MINUTES, consoleUrl, browserHash, kind: 'sso' } as const
      const { url } = await createLink(tx, link)
      links.push({ accountName, url })
    }
    return { links }
  })
