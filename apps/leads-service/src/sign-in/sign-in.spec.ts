import { createHash } from 'node:crypto'
import { NotificationRequested, ROLE_SCOPES, signInLinkContext } from '@leadwire/contracts'
import { createSealer } from '@leadwire/service-kit'
import { newAccount, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'
import { deleteExpiredTokens } from '../tokens/tokens'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const CONSOLE = 'https://leads.example.test/console'
const BROWSER = createHash('sha256').update('this browser').digest()
const OTHER_BROWSER = createHash('sha256').update('another browser').digest()
// The key of leads-service.fixture.ts.
const sealer = createSealer([Buffer.alloc(32, 7)])

let emails = 0
const newEmail = () => {
  emails += 1
  return `person-${emails}@example.test`
}

const newUser = async (role: string | undefined, email = newEmail()) => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email, name: 'Sam', role })
  return { accountId, userId: user!.id, email }
}

/** Reads the notifications of an account from the outbox, oldest first, with their links. */
const readMails = async (accountId: number) => {
  const rows = await service.db.query<{ payload: Buffer }>({
    text: `SELECT payload FROM outbox WHERE type = 'notification.requested' AND account_id = $1 ORDER BY created_at`,
    values: [accountId],
  })
  return rows.map(({ payload }) => {
    const mail = NotificationRequested.decode(payload)
    return { ...mail, link: sealer.open(mail.sealedLink!, signInLinkContext(mail.eventId)).toString() }
  })
}

const requestLink = async (accountId: number, email: string, browserHash = BROWSER): Promise<string> => {
  await service.accounts.sendSignInLinks({ email, browserHash, consoleUrl: CONSOLE })
  return (await readMails(accountId)).at(-1)!.link
}

const readSecret = (link: string): string => {
  expect(link).toMatch(/^https:\/\/leads\.example\.test\/console#sign-in=lw_link_[\w-]{43}$/)
  return link.split('#sign-in=')[1]!
}

const verify = async (secret: string) => {
  const hash = createHash('sha256').update(secret).digest()
  const { results } = await service.accounts.verifyTokens({ hashes: [hash] })
  return results[0]!.token
}

const open = async (link: string, browserHash?: Buffer) => {
  const token = await verify(readSecret(link))
  if (!token) throw new Error('the link is not valid')
  const { accountId, tokenId } = token
  return service.accounts.openSignInLink({ accountId, tokenId, browserHash })
}

const createLink = async (user: { accountId: number; userId: number }) =>
  (await service.accounts.createSignInLink({ ...user, consoleUrl: CONSOLE })).url

/** Moves times of a user's tokens into the past. */
const age = (userId: number, assignments: string) =>
  service.db.query({ text: `UPDATE tokens SET ${assignments} WHERE user_id = $1`, values: [userId] })

describe('a link by e-mail', () => {
  test('becomes a session with the scopes of the role, once', async () => {
    const { accountId, userId, email } = await newUser('support')
    const link = await requestLink(accountId, email)
    expect(await verify(readSecret(link))).toMatchObject({ userId, scopes: ['sign-in-link'] })
    const { session, secret } = await open(link, BROWSER)
    expect(await verify(secret)).toMatchObject({
      tokenId: session!.id,
      userId,
      accountId,
      scopes: ROLE_SCOPES.support,
      test: false,
    })
    expect(await verify(readSecret(link))).toBeUndefined()
    const again = service.accounts.openSignInLink({ accountId, tokenId: session!.id, browserHash: BROWSER })
    await expect(again).rejects.toMatchObject({ code: 'conflict' })
  })

  test('is opened only by the browser that asked for it', async () => {
    const { accountId, email } = await newUser('sales')
    const link = await requestLink(accountId, email)
    await expect(open(link)).rejects.toMatchObject({ code: 'forbidden' })
    await expect(open(link, OTHER_BROWSER)).rejects.toMatchObject({ code: 'forbidden' })
    expect((await open(link, BROWSER)).session).toBeDefined()
  })

  test('names the user, the account and the expiry, and hides the link from the outbox', async () => {
    const { accountId, userId, email } = await newUser('viewer')
    const link = await requestLink(accountId, email.toUpperCase())
    const [mail] = await readMails(accountId)
    expect(mail).toMatchObject({
      subject: 'sign_in',
      userId,
      userEmail: email,
      userName: 'Sam',
      accountName: 'Clear Windows',
      leadReference: '',
    })
    const minutes = (Date.parse(mail!.linkExpiresAt!) - Date.parse(mail!.requestedAt)) / 60_000
    expect(Math.round(minutes)).toBe(15)
    const [row] = await service.db.query<{ payload: Buffer }>({
      text: 'SELECT payload FROM outbox WHERE account_id = $1',
      values: [accountId],
    })
    expect(row!.payload.includes(readSecret(link))).toBe(false)
    expect(service.committed.some(({ eventId }) => eventId === mail!.eventId)).toBe(true)
  })

  test('is sent for each account that knows the address, and to nobody else', async () => {
    const email = newEmail()
    const first = await newUser('admin', email)
    const second = await newUser('viewer', email)
    const withoutRole = await newUser(undefined, email)
    const suspended = await newUser('viewer', email)
    await service.accounts.suspendAccount({ accountId: suspended.accountId })
    const asked = { browserHash: BROWSER, consoleUrl: CONSOLE }
    expect(await service.accounts.sendSignInLinks({ email, ...asked })).toEqual({})
    expect(await service.accounts.sendSignInLinks({ email: newEmail(), ...asked })).toEqual({})
    const counts = []
    for (const { accountId } of [first, second, withoutRole, suspended])
      counts.push((await readMails(accountId)).length)
    expect(counts).toEqual([1, 1, 0, 0])
  })

  test('is sent at most five times in an hour', async () => {
    const { accountId, userId, email } = await newUser('admin')
    for (let count = 0; count < 7; count += 1) await requestLink(accountId, email)
    expect(await readMails(accountId)).toHaveLength(5)
    await age(userId, "created_at = created_at - interval '1 hour'")
    await requestLink(accountId, email)
    expect(await readMails(accountId)).toHaveLength(6)
  })

  test('works no longer after 15 minutes, and after the user has lost the role', async () => {
    const expired = await newUser('admin')
    const expiredLink = await requestLink(expired.accountId, expired.email)
    await age(expired.userId, "expires_at = expires_at - interval '15 minutes'")
    expect(await verify(readSecret(expiredLink))).toBeUndefined()

    const changed = await newUser('viewer')
    const link = await requestLink(changed.accountId, changed.email)
    const { accountId, userId } = changed
    await service.accounts.updateUser({ accountId, userId, role: '' })
    expect(await verify(readSecret(link))).toBeUndefined()
  })
})

test('a link to a former address works no longer, and the session stays', async () => {
  const user = await newUser('viewer')
  const { accountId, userId, email } = user
  const { secret } = await open(await createLink(user))
  const link = await requestLink(accountId, email)
  await service.accounts.updateUser({ accountId, userId, email: newEmail() })
  expect(await verify(readSecret(link))).toBeUndefined()
  expect(await verify(secret)).toBeDefined()
})

describe('an invitation', () => {
  test('is sent with the first role, and works for seven days in any browser', async () => {
    const { accountId } = await newAccount(service)
    const email = newEmail()
    const invited = { accountId, email, name: 'Sam', role: 'sales', consoleUrl: CONSOLE }
    const { user } = await service.accounts.createUser(invited)
    const [mail] = await readMails(accountId)
    expect(mail).toMatchObject({ subject: 'invitation', userId: user!.id, userEmail: email })
    const hours = (Date.parse(mail!.linkExpiresAt!) - Date.parse(mail!.requestedAt)) / 3_600_000
    expect(Math.round(hours)).toBe(7 * 24)
    const { secret } = await open(mail!.link, OTHER_BROWSER)
    expect(await verify(secret)).toMatchObject({ scopes: ROLE_SCOPES.sales })
  })

  test('is sent when a user gets a role, but not when the role changes', async () => {
    const { accountId, userId } = await newUser(undefined)
    const key = { accountId, userId, consoleUrl: CONSOLE }
    await service.accounts.updateUser({ ...key, role: 'viewer' })
    await service.accounts.updateUser({ ...key, role: 'sales' })
    await service.accounts.updateUser({ ...key, role: 'sales' })
    expect(await readMails(accountId)).toHaveLength(1)
    await service.accounts.inviteUser(key)
    expect(await readMails(accountId)).toHaveLength(2)
  })

  test('is due for the outbox at once, because nobody publishes it from memory', async () => {
    const { accountId } = await newAccount(service)
    const invited = { accountId, email: newEmail(), name: 'Sam', role: 'sales', consoleUrl: CONSOLE }
    await service.accounts.createUser(invited)
    const [row] = await service.db.query<{ due: boolean }>({
      text: 'SELECT next_check_at <= clock_timestamp() AS due FROM outbox WHERE account_id = $1',
      values: [accountId],
    })
    expect(row).toEqual({ due: true })
  })

  test('is not idle, however long ago its page was looked at', async () => {
    const user = await newUser('viewer')
    const link = await createLink(user)
    await verify(readSecret(link))
    await age(user.userId, "last_used_at = clock_timestamp() - interval '13 hours'")
    expect(await verify(readSecret(link))).toBeDefined()
  })

  test('needs a role', async () => {
    const { accountId, userId } = await newUser(undefined)
    const invited = service.accounts.inviteUser({ accountId, userId, consoleUrl: CONSOLE })
    await expect(invited).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: { id: [expect.any(String)] },
    })
    await expect(createLink({ accountId, userId })).rejects.toMatchObject({ code: 'invalid' })
  })
})

describe('a session', () => {
  const signIn = async (role = 'viewer') => {
    const user = await newUser(role)
    const { session, secret } = await open(await createLink(user))
    return { ...user, sessionId: session!.id, secret }
  }

  test('ends after 12 hours without a request', async () => {
    const { userId, secret } = await signIn()
    await age(userId, "last_used_at = clock_timestamp() - interval '11 hours 59 minutes'")
    expect(await verify(secret)).toBeDefined()
    await age(userId, "last_used_at = clock_timestamp() - interval '12 hours'")
    expect(await verify(secret)).toBeUndefined()
  })

  test('ends after seven days at the latest', async () => {
    const { userId, secret } = await signIn()
    await age(userId, "expires_at = expires_at - interval '6 days 23 hours 59 minutes'")
    expect(await verify(secret)).toBeDefined()
    await age(userId, "expires_at = expires_at - interval '1 minute'")
    expect(await verify(secret)).toBeUndefined()
  })

  test('ends when the role changes, when the user is removed, and when it is ended', async () => {
    const changed = await signIn('viewer')
    await service.accounts.updateUser({ accountId: changed.accountId, userId: changed.userId, role: 'sales' })
    const removed = await signIn()
    await service.accounts.removeUser({ accountId: removed.accountId, userId: removed.userId })
    const ended = await signIn()
    const { accountId, userId, sessionId } = ended
    await service.accounts.endSessions({ accountId, userId, sessionId })
    for (const { secret } of [changed, removed, ended]) expect(await verify(secret)).toBeUndefined()
  })

  test('stays when other fields of the user change', async () => {
    const { accountId, userId, secret } = await signIn('viewer')
    await service.accounts.updateUser({ accountId, userId, name: 'Samantha', role: 'viewer' })
    expect(await verify(secret)).toBeDefined()
  })

  test('is listed for its user only, without links and ended sessions', async () => {
    const user = await signIn()
    const { accountId, userId, sessionId } = user
    const { session: second } = await open(await createLink(user))
    await createLink(user)
    const listed = await service.accounts.listSessions({ accountId, userId })
    expect(listed.sessions.map(({ id }) => id)).toEqual([second!.id, sessionId])
    expect((await service.accounts.listSessions({ accountId, userId: userId + 1 })).sessions).toEqual([])
    const foreign = service.accounts.endSessions({ accountId, userId: userId + 1, sessionId })
    await expect(foreign).rejects.toMatchObject({ code: 'not_found' })
    expect(await service.accounts.endSessions({ accountId, userId })).toEqual({ ended: 2 })
    expect((await service.accounts.listSessions({ accountId, userId })).sessions).toEqual([])
  })

  test('is not a token of the account: lists and quotas leave it out', async () => {
    const { accountId, sessionId } = await signIn()
    const { tokens } = await service.accounts.listTokens({ accountId, limit: 100 })
    expect(tokens.map(({ id }) => id)).not.toContain(sessionId)
    expect(tokens).toHaveLength(1)
  })

  test('is deleted a day after its end, once no saved response refers to it', async () => {
    const { userId, sessionId } = await signIn()
    await service.db.query({
      text: `INSERT INTO idempotency_keys (token_id, key, fingerprint, body) VALUES ($1, 'key', '', '')`,
      values: [sessionId],
    })
    await age(userId, "expires_at = clock_timestamp() - interval '25 hours'")
    const countRows = async () =>
      (await service.db.query({ text: 'SELECT FROM tokens WHERE user_id = $1', values: [userId] })).length
    await deleteExpiredTokens(service.db)
    expect(await countRows()).toBe(1)
    await service.db.query({ text: 'DELETE FROM idempotency_keys WHERE token_id = $1', values: [sessionId] })
    await deleteExpiredTokens(service.db)
    expect(await countRows()).toBe(0)
  })
})

describe('the last admin', () => {
  const LAST = 'The user is the only admin of the account. Make another user an admin first.'

  test('keeps the role and is not removed', async () => {
    const key = await newUser('admin')
    const { accountId, userId } = key
    const demoted = service.accounts.updateUser({ accountId, userId, role: 'sales' })
    await expect(demoted).rejects.toMatchObject({ code: 'invalid', fieldErrors: { role: [LAST] } })
    const removed = service.accounts.removeUser({ accountId, userId })
    await expect(removed).rejects.toMatchObject({ code: 'invalid', fieldErrors: { id: [LAST] } })
    await service.accounts.createUser({ accountId, email: newEmail(), name: 'Kim', role: 'admin' })
    expect((await service.accounts.removeUser({ accountId, userId })).user!.removedAt).toBeDefined()
  })

  test('stays when two admins remove each other at the same time', async () => {
    const { accountId, userId } = await newUser('admin')
    const other = { accountId, email: newEmail(), name: 'Kim', role: 'admin' }
    const { user } = await service.accounts.createUser(other)
    const removals = await Promise.allSettled(
      [userId, user!.id].map((id) => service.accounts.removeUser({ accountId, userId: id })),
    )
    expect(removals.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  })
})

describe('names', () => {
  test('an erased user is named nowhere', async () => {
    const { accountId, userId, email } = await newUser('viewer')
    await service.accounts.removeUser({ accountId, userId, erase: true })
    const { user } = await service.accounts.retrieveUser({ accountId, userId })
    expect(user).toMatchObject({ name: 'A removed user', email: `user-${userId}@removed.invalid` })
    const { entries } = await service.audit.listAudit({ accountId })
    expect(JSON.stringify(entries)).not.toContain(email)
    expect(JSON.stringify(entries)).not.toContain('Sam')
    const { names } = await service.accounts.findUserNames({ accountId, userIds: [userId, userId + 1] })
    expect(names).toEqual({ [userId]: 'A removed user' })
  })

  test('a token shows the user who created it by id', async () => {
    const { accountId, userId } = await newUser('admin')
    const { session } = await open(await createLink({ accountId, userId }))
    const actor = { tokenId: session!.id, tokenName: `User ${userId}`, userId, requestId: 'request-1' }
    const asked = { accountId, name: 'CRM', scopes: ['leads'] }
    const { token } = await service.accounts.createToken(asked, { actor })
    expect(token).toMatchObject({ createdByTokenId: session!.id, createdByUserId: userId })
  })

  test('the audit log shows the user behind a session by id', async () => {
    const { accountId, userId } = await newUser('admin')
    const { session } = await open(await createLink({ accountId, userId }))
    const actor = { tokenId: session!.id, tokenName: `User ${userId}`, userId, requestId: 'request-1' }
    await service.accounts.updateAccount({ accountId, contactEmail: 'it@example.test' }, { actor })
    const { entries } = await service.audit.listAudit({ accountId })
    expect(entries[0]).toMatchObject({ action: 'account.updated', userId, tokenId: session!.id })
    expect(entries[0]!.tokenName).toBeUndefined()
  })
})
