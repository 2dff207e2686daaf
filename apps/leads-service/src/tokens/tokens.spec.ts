import { createHash } from 'node:crypto'
import { PORTAL_LINK } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import {
  holdAccount,
  newAccount,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'
import { deleteExpiredTokens } from './tokens'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const create = async (change: object = {}) => {
  const { accountId } = await newAccount(service)
  const fields = { accountId, name: 'Partner', scopes: ['webhooks'], test: false, endpointId: 7, ...change }
  return { accountId, ...(await service.accounts.createToken(fields)) }
}

const scopesStored = async (tokenId: number) => {
  const query = { text: 'SELECT scopes FROM tokens WHERE id = $1', values: [tokenId] }
  return (await service.db.query<{ scopes: string[] }>(query))[0]?.scopes
}

test('a token of one endpoint keeps its scope and its endpoint', async () => {
  const { accountId, token, secret } = await create()
  expect(token).toMatchObject({ scopes: ['webhooks'], endpointId: 7 })
  const hashes = [createHash('sha256').update(secret).digest()]
  expect((await service.accounts.verifyTokens({ hashes })).results).toMatchObject([
    { token: { accountId, scopes: ['webhooks'], endpointId: 7 } },
  ])
  expect((await service.accounts.listTokens({ accountId, limit: 100 })).tokens).toContainEqual({
    ...token,
    lastUsedAt: expect.any(String),
  })
})

test('tokens are listed in pages', async () => {
  const { accountId, token } = await create()
  const { accounts } = service
  const text = `INSERT INTO tokens (account_id, name, hash, scopes)
    SELECT $1, 'Many', sha256(($1::bigint || '/' || n)::bytea), '{leads}' FROM generate_series(1, 200) n`
  await service.db.query({ text, values: [accountId] })
  const pages = []
  let after: number | undefined
  do {
    const page = await accounts.listTokens({ accountId, after, limit: 100 })
    pages.push(page.tokens)
    after = page.nextAfter
  } while (after !== undefined)
  expect(pages.map(({ length }) => length)).toEqual([100, 100, 2])
  const ids = pages.flat().map(({ id }) => id)
  expect(ids).toContain(token!.id)
  expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other))
})

test('a token is stored as a hash alone', async () => {
  const { token, secret } = await create()
  const query = { text: 'SELECT t::text AS row FROM tokens t WHERE id = $1', values: [token!.id] }
  const [stored] = await service.db.query<{ row: string }>(query)
  expect(stored!.row).toContain(createHash('sha256').update(secret).digest('hex'))
  expect(stored!.row).not.toContain(secret.replace(/^lw_live_/, ''))
})

test.each([
  { scopes: ['webhooks', 'leads'] },
  { scopes: ['manage'] },
  { scopes: [PORTAL_LINK], endpointId: undefined },
  { scopes: [], endpointId: undefined },
])('%j makes no token', async (change) => {
  await expect(create(change)).rejects.toMatchObject({ code: 'bad_request' })
})

test('a link is opened once; another token, and a link that was revoked, never', async () => {
  const { accountId, token, secret } = await create({ scopes: [PORTAL_LINK] })
  const key = { accountId, tokenId: token!.id }
  const opened = await Promise.allSettled([1, 2, 3].map(() => service.accounts.openPortalLink(key)))
  const sessions = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  expect(sessions).toMatchObject([{ token: { id: token!.id, scopes: ['webhooks'], endpointId: 7 } }])
  const hashes = [secret, sessions[0]!.secret].map((text) => createHash('sha256').update(text).digest())
  const { results } = await service.accounts.verifyTokens({ hashes })
  expect(results.map(({ token: found }) => found?.scopes)).toEqual([undefined, ['webhooks']])

  const revoked = await create({ scopes: [PORTAL_LINK] })
  await service.accounts.revokeToken({ accountId: revoked.accountId, tokenId: revoked.token!.id })
  for (const one of [revoked, await create()])
    await expect(
      service.accounts.openPortalLink({ accountId: one.accountId, tokenId: one.token!.id }),
    ).rejects.toMatchObject({ code: 'conflict' })
})

test('a publishable token has a random key for stamps, which only those who verify the token get', async () => {
  const page = { scopes: ['leads:create'], endpointId: undefined, origins: ['https://a.example'] }
  const made = await Promise.all([create(page), create(page), create()])
  const hashes = made.map(({ secret }) => createHash('sha256').update(secret).digest())
  const { results } = await service.accounts.verifyTokens({ hashes })
  const [one, another, none] = results.map(({ token }) => token!.stampKey)
  expect([one!.length, another!.length, none]).toEqual([32, 32, undefined])
  expect(one).not.toEqual(another)
  expect(made[0]!.token).not.toHaveProperty('stampKey')
})

test('tokens of one endpoint are deleted a day after they expired, others are kept', async () => {
  const expiresAt = '2999-01-01T00:00:00Z'
  const made = await Promise.all([
    create({ expiresAt, scopes: [PORTAL_LINK] }),
    create({ expiresAt }),
    create({ expiresAt, endpointId: undefined }),
    create(),
  ])
  const ids = made.map(({ token }) => token!.id)
  await service.db.query({
    text: `UPDATE tokens SET expires_at = clock_timestamp() - interval '25 hours' WHERE id IN ($1, $2)`,
    values: [ids[0], ids[2]],
  })
  expect(await deleteExpiredTokens(service.db)).toEqual({ rows: 1, more: false })
  const stored = await Promise.all(ids.map(scopesStored))
  expect(stored.map((scopes) => scopes !== undefined)).toEqual([false, true, true, true])
})

/** Creates an account. `createBy` creates a token with another token of the account. */
const newFamily = async () => {
  const { accountId, tokenId } = await newAccount(service)
  const creator = (id: number) => ({ actor: { tokenId: id, tokenName: 'a', requestId: 'request-1' } })
  const createBy = async (id: number, change: object = {}) => {
    const fields = { accountId, name: 'Child', scopes: ['manage'], ...change }
    return (await service.accounts.createToken(fields, creator(id))).token!
  }
  const list = async () => (await service.accounts.listTokens({ accountId, limit: 100 })).tokens
  const listValid = async () => (await list()).filter(({ revokedAt }) => !revokedAt).map(({ id }) => id)
  return { accountId, tokenId, creator, createBy, list, listValid }
}

test('a token shows which token created it; the command line is none', async () => {
  const { tokenId, createBy, list } = await newFamily()
  const child = await createBy(tokenId)
  const grandchild = await createBy(child.id)
  expect([child, grandchild]).toMatchObject([
    { createdByTokenId: tokenId, createdByTokenName: 'first' },
    { createdByTokenId: child.id, createdByTokenName: 'Child' },
  ])
  expect((await list()).map(({ createdByTokenId }) => createdByTokenId)).toEqual([
    undefined,
    tokenId,
    child.id,
  ])
})

test('a revocation with cascade ends what the token created, and what that created, each with its entry in the audit log', async () => {
  const { accountId, tokenId, creator, createBy, listValid } = await newFamily()
  const child = await createBy(tokenId)
  const sibling = await createBy(tokenId)
  const link = await createBy(child.id, { scopes: [PORTAL_LINK], endpointId: 7 })
  const grandchild = await createBy(child.id)
  const revoked = await createBy(grandchild.id)
  await service.accounts.revokeToken({ accountId, tokenId: revoked.id })
  const last = await createBy(grandchild.id)
  const other = await newFamily()
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const userId = user!.id
  const { secret } = await service.accounts.createUserCalendar({ accountId, userId }, creator(grandchild.id))

  const { token } = await service.accounts.revokeToken(
    { accountId, tokenId: child.id, cascade: true },
    creator(tokenId),
  )
  expect(token).toMatchObject({ id: child.id, revokedAt: expect.any(String) })
  expect(await listValid()).toEqual([tokenId, sibling.id])
  expect(await other.listValid()).toEqual([other.tokenId])
  const hash = createHash('sha256').update(secret).digest()
  await expect(service.leads.findCalendar({ hash })).rejects.toMatchObject({ code: 'not_found' })
  const { entries } = await service.audit.listAudit({ accountId })
  const revocations = entries.slice(0, 5)
  expect(revocations.every((entry) => entry.tokenId === tokenId)).toBe(true)
  expect(revocations.map(({ action, targetId }) => `${action} ${targetId}`).toSorted()).toEqual(
    [
      ...[child, link, grandchild, last].map(({ id }) => `token.revoked ${id}`),
      `user.calendar_revoked ${userId}`,
    ].toSorted(),
  )
})

test('a revocation without cascade leaves the tokens that the token created, and a later one with it ends them', async () => {
  const { accountId, tokenId, createBy, listValid } = await newFamily()
  const child = await createBy(tokenId)
  await service.accounts.revokeToken({ accountId, tokenId })
  expect(await listValid()).toEqual([child.id])
  await service.accounts.revokeToken({ accountId, tokenId, cascade: true })
  expect(await listValid()).toEqual([])
})

test('a token that has ended since the gateway verified it creates nothing', async () => {
  const { accountId, tokenId, creator, createBy } = await newFamily()
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const userId = user!.id
  const [revoked, expired] = [await createBy(tokenId), await createBy(tokenId)]
  await service.accounts.revokeToken({ accountId, tokenId: revoked.id })
  await service.db.query({
    text: 'UPDATE tokens SET expires_at = clock_timestamp() WHERE id = $1',
    values: [expired.id],
  })
  const foreign = (await newFamily()).tokenId
  for (const id of [revoked.id, expired.id, foreign]) {
    await expect(createBy(id)).rejects.toMatchObject({ code: 'unauthenticated' })
    const made = service.accounts.createUserCalendar({ accountId, userId }, creator(id))
    await expect(made).rejects.toMatchObject({ code: 'unauthenticated' })
  }
})

test('a revocation with cascade waits for a token that is being created, and revokes it', async () => {
  const { accountId, tokenId, createBy, listValid } = await newFamily()
  const child = await createBy(tokenId)
  // The foreign key of the new token waits for the lock on the account.
  const account = await holdAccount(service, accountId)
  const awaitWaiters = (count: number) => eventually(async () => expect(await account.waiters()).toBe(count))
  const creation = createBy(child.id)
  await awaitWaiters(1)
  const revocation = service.accounts.revokeToken({ accountId, tokenId, cascade: true })
  await awaitWaiters(2)
  await account.release()
  await Promise.all([creation, revocation])
  expect(await listValid()).toEqual([])
})
