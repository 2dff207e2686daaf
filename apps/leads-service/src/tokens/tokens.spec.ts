import { createHash } from 'node:crypto'
import { PORTAL_LINK } from '@leadwire/contracts'
import { newAccount, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'
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

test('a token of one endpoint is stored without its scope: the release before, which knows no endpoint_id, refuses it', async () => {
  const { accountId, token, secret } = await create()
  expect(token).toMatchObject({ scopes: ['webhooks'], endpointId: 7 })
  expect(await scopesStored(token!.id)).toEqual([])
  const hashes = [createHash('sha256').update(secret).digest()]
  expect((await service.accounts.verifyTokens({ hashes })).results).toMatchObject([
    { token: { accountId, scopes: ['webhooks'], endpointId: 7 } },
  ])
  expect((await service.accounts.listTokens({ accountId })).tokens).toContainEqual({
    ...token,
    lastUsedAt: expect.any(String),
  })
})

test.each([
  { scopes: ['webhooks', 'leads'] },
  { scopes: ['manage'] },
  { scopes: [PORTAL_LINK], endpointId: undefined },
  { scopes: [PORTAL_LINK, 'webhooks'] },
  { scopes: [] },
])('%j makes no token', async (change) => {
  await expect(create(change)).rejects.toMatchObject({ fieldErrors: { scopes: [expect.any(String)] } })
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
