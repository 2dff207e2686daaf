import { createHash } from 'node:crypto'
import { newAccount, QUOTAS, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService({}, { quotas: { ...QUOTAS, users: 3 } })
})
afterAll(() => service.stop())

const CONSOLE = 'https://leads.example.test/console'
const BROWSER = createHash('sha256').update('this browser').digest()

let emails = 0
const newEmail = () => {
  emails += 1
  return `person-${emails}@example.test`
}

const newUser = async (email: string, role: string | undefined) => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email, name: 'Sam', role })
  return { accountId, userId: user!.id }
}

const signIn = async (email: string, creation: { role?: string; createInAccountId?: number } = {}) => {
  const asked = { email, name: 'Sam', browserHash: BROWSER, consoleUrl: CONSOLE, ...creation }
  return (await service.accounts.signInByEmail(asked)).links
}

const verify = async (url: string) => {
  const [, secret = ''] =
    /^https:\/\/leads\.example\.test\/console#sign-in=(lw_sso_[\w-]{43})$/.exec(url) ?? []
  const hash = createHash('sha256').update(secret).digest()
  return (await service.accounts.verifyTokens({ hashes: [hash] })).results[0]!.token
}

const open = async (url: string, browserHash?: Buffer) => {
  const { accountId, tokenId } = (await verify(url))!
  return service.accounts.openSignInLink({ accountId, tokenId, browserHash })
}

const listUsers = async (accountId: number) =>
  (await service.accounts.listUsers({ accountId, limit: 100 })).users

test('a user gets a link that works once, in one browser', async () => {
  const email = newEmail()
  const { accountId, userId } = await newUser(email, 'sales')
  const [link, ...others] = await signIn(email.toUpperCase())
  expect([link!.accountName, others]).toEqual(['Clear Windows', []])
  expect(await verify(link!.url)).toMatchObject({ accountId, userId, scopes: ['sign-in-link'] })
  await expect(open(link!.url)).rejects.toMatchObject({ code: 'forbidden' })
  expect((await open(link!.url, BROWSER)).session).toMatchObject({ userId })
  expect(await verify(link!.url)).toBeUndefined()
})

test('a user with several accounts gets a link for each, and users who may not sign in get none', async () => {
  const email = newEmail()
  const first = await newUser(email, 'admin')
  await newUser(email, undefined)
  const suspended = await newUser(email, 'admin')
  await service.accounts.suspendAccount({ accountId: suspended.accountId })
  const second = await newUser(email, 'viewer')
  const links = await signIn(email)
  const owners = await Promise.all(links.map(({ url }) => verify(url)))
  expect(owners.map((owner) => owner!.accountId)).toEqual([first.accountId, second.accountId])
  expect(await signIn(newEmail())).toEqual([])
})

test('the number of sign-ins is not limited', async () => {
  const email = newEmail()
  await newUser(email, 'sales')
  for (let count = 0; count < 7; count += 1) expect(await signIn(email)).toHaveLength(1)
})

describe('an unknown person', () => {
  test('becomes a user with the role, once, and without an e-mail', async () => {
    const { accountId } = await newAccount(service)
    const [email, creation] = [newEmail(), { role: 'support', createInAccountId: accountId }]
    const all = await Promise.all([1, 2, 3].map(() => signIn(email, creation)))
    expect(all.map(({ length }) => length)).toEqual([1, 1, 1])
    const users = await listUsers(accountId)
    expect(users).toMatchObject([{ email, name: 'Sam', role: 'support' }])
    const { entries } = await service.audit.listAudit({ accountId })
    expect(entries.filter(({ action }) => action === 'user.created')).toHaveLength(1)
    expect(JSON.stringify(entries)).not.toContain(email)
    const text = `SELECT FROM outbox WHERE type = 'notification.requested' AND account_id = $1`
    expect(await service.db.query({ text, values: [accountId] })).toEqual([])
  })

  test('needs a role and an account', async () => {
    const { accountId } = await newAccount(service)
    expect(await signIn(newEmail(), { createInAccountId: accountId })).toEqual([])
    expect(await signIn(newEmail(), { role: 'admin' })).toEqual([])
    expect(await listUsers(accountId)).toEqual([])
    const nowhere = signIn(newEmail(), { role: 'admin', createInAccountId: 999_999_999 })
    await expect(nowhere).rejects.toMatchObject({ code: 'not_found', detail: 'There is no such account.' })
  })

  test('becomes a user although another account knows the address', async () => {
    const email = newEmail()
    await newUser(email, 'sales')
    const { accountId } = await newAccount(service)
    expect(await signIn(email, { role: 'viewer', createInAccountId: accountId })).toHaveLength(2)
  })

  test('is not created in a suspended account, nor beyond the quota', async () => {
    const { accountId } = await newAccount(service)
    const creation = { role: 'viewer', createInAccountId: accountId }
    await service.accounts.suspendAccount({ accountId })
    expect(await signIn(newEmail(), creation)).toEqual([])
    await service.accounts.resumeAccount({ accountId })
    for (let count = 0; count < 3; count += 1) expect(await signIn(newEmail(), creation)).toHaveLength(1)
    const fieldErrors = { users: [expect.stringContaining('may not have more than 3 users')] }
    await expect(signIn(newEmail(), creation)).rejects.toMatchObject({ code: 'invalid', fieldErrors })
  })
})

describe('a known user', () => {
  test('keeps the role, even if there is none', async () => {
    for (const role of ['viewer', undefined]) {
      const email = newEmail()
      const { accountId } = await newUser(email, role)
      const links = await signIn(email, { role: 'admin', createInAccountId: accountId })
      expect(links).toHaveLength(role === undefined ? 0 : 1)
      expect((await listUsers(accountId)).map((user) => user.role)).toEqual([role])
    }
  })

  test('is created anew after the removal', async () => {
    const email = newEmail()
    const { accountId, userId } = await newUser(email, 'sales')
    await service.accounts.removeUser({ accountId, userId })
    expect(await signIn(email)).toEqual([])
    const [link] = await signIn(email, { role: 'viewer', createInAccountId: accountId })
    const { session } = await open(link!.url, BROWSER)
    expect(session!.userId).not.toBe(userId)
  })
})
