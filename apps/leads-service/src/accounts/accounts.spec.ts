import { createHash } from 'node:crypto'
import { migrate } from '@leadwire/service-kit'
import { skewClock } from '@leadwire/test-kit'
import { migrations } from '../database/migrations'
import { newAccount, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const sha256 = (text: string) => createHash('sha256').update(text).digest()

const verify = async (...tokens: string[]) =>
  (await service.accounts.verifyTokens({ hashes: tokens.map(sha256) })).results.map(({ token }) => token)

test('a token is verified by its hash, and stored as nothing else', async () => {
  const { accountId, tokenId, secret } = await newAccount(service)
  expect(secret).toMatch(/^lw_live_[\w-]{43}$/)
  expect(await verify('lw_live_nobody', secret)).toEqual([
    undefined,
    {
      tokenId,
      accountId,
      scopes: ['leads', 'manage'],
      test: false,
      suspended: false,
      name: 'first',
      origins: [],
      verifiedAtMs: expect.any(Number),
    },
  ])
  const { db } = service
  const [row] = await db.query<{ text: string }>({
    text: 'SELECT tokens::text AS text FROM tokens WHERE id = $1',
    values: [tokenId],
  })
  expect(row!.text).not.toContain(secret.slice(8))
})

test('expired and revoked tokens verify no more, and revoking twice keeps the first time', async () => {
  const { accountId, secret, tokenId } = await newAccount(service)
  const soon = await service.accounts.createToken({
    accountId,
    name: 'soon',
    scopes: ['leads:read'],
    test: true,
    expiresAt: '2999-01-01T00:00:00Z',
  })
  expect(soon.secret).toMatch(/^lw_test_/)
  expect(await verify(soon.secret)).toMatchObject([
    {
      test: true,
      expiresAtMs: Date.parse('2999-01-01T00:00:00Z'),
      expiresAt: '2999-01-01T00:00:00.000000Z',
    },
  ])
  await service.db.query({
    text: 'UPDATE tokens SET expires_at = clock_timestamp() WHERE id = $1',
    values: [soon.token!.id],
  })
  const first = await service.accounts.revokeToken({ accountId, tokenId })
  expect(await service.accounts.revokeToken({ accountId, tokenId })).toEqual(first)
  expect(await verify(soon.secret, secret)).toEqual([undefined, undefined])
})

describe.each([
  ['ahead of', 3_600_000],
  ['behind', -3_600_000],
])('a service whose clock is an hour %s PostgreSQL’s', (_, skewMs) => {
  let fields: { accountId: number; name: string; scopes: string[]; test: boolean }
  let now: number
  const in30Minutes = (direction: 1 | -1) => new Date(now + direction * 1_800_000).toISOString()
  beforeEach(async () => {
    const { accountId } = await newAccount(service)
    fields = { accountId, name: 'Form', scopes: ['leads'], test: false }
    now = Date.now()
    skewClock(skewMs)
  })
  afterEach(() => void jest.useRealTimers())

  test('creates a token that expires in half an hour', async () => {
    const { secret } = await service.accounts.createToken({ ...fields, expiresAt: in30Minutes(1) })
    const [token] = await verify(secret)
    expect(token!.verifiedAtMs).toBeGreaterThanOrEqual(now)
    expect(token!.verifiedAtMs).toBeLessThan(token!.expiresAtMs!)
  })

  test('refuses a token that expired half an hour ago', async () => {
    const created = service.accounts.createToken({ ...fields, expiresAt: in30Minutes(-1) })
    await expect(created).rejects.toMatchObject({
      fieldErrors: { expires_at: ['The expires at must be a date in the future.'] },
    })
  })
})

test('tokens and users are their account’s own', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  await expect(
    service.accounts.revokeToken({ accountId: other.accountId, tokenId: mine.tokenId }),
  ).rejects.toMatchObject({ code: 'not_found' })
  const sam = { email: 'sam@example.test', name: 'Sam' }
  await service.accounts.createUser({ accountId: mine.accountId, ...sam })
  await service.accounts.createUser({ accountId: other.accountId, ...sam })
  await expect(
    service.accounts.createUser({ accountId: mine.accountId, email: 'SAM@example.test', name: 'Sam' }),
  ).rejects.toMatchObject({ code: 'invalid', fieldErrors: { email: ['The email has already been taken.'] } })
  expect((await service.accounts.listUsers({ accountId: mine.accountId, limit: 100 })).users).toMatchObject([
    sam,
  ])
})

test('a name has up to 255 characters, however many bytes these are', async () => {
  const { accountId } = await newAccount(service)
  const token = { accountId, scopes: ['leads'], test: false }
  await service.accounts.createToken({ ...token, name: '🪟'.repeat(255) })
  await expect(service.accounts.createToken({ ...token, name: '🪟'.repeat(256) })).rejects.toMatchObject({
    code: 'bad_request',
  })
})

test('a contact is set, kept, replaced and cleared, and each change is in the audit log', async () => {
  const { accounts, audit } = service
  const { accountId } = await newAccount(service)
  const contactAfter = async (contactEmail?: string) => {
    const { account } = await accounts.updateAccount({ accountId, contactEmail })
    expect((await accounts.retrieveAccount({ accountId })).account).toEqual(account)
    return account!.contactEmail
  }
  expect(await contactAfter()).toBeUndefined()
  expect(await contactAfter('it@example.test')).toBe('it@example.test')
  expect(await contactAfter()).toBe('it@example.test')
  expect(await contactAfter('')).toBeUndefined()
  const { entries } = await audit.listAudit({ accountId })
  const told = entries.filter(({ action }) => action === 'account.updated')
  expect(told.map(({ changes }) => JSON.parse(changes))).toEqual([
    { contact_email: { from: 'it@example.test', to: null } },
    { contact_email: { from: null, to: 'it@example.test' } },
  ])
  await expect(accounts.updateAccount({ accountId: 987_654_321 })).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('the lead times of an account are changed one by one, and each change is in the audit log', async () => {
  const { accounts, audit } = service
  const { accountId } = await newAccount(service)
  const timesAfter = async (change: object) => {
    const { account } = await accounts.updateAccount({ accountId, ...change })
    return [account!.appointmentDueMinutes, account!.callbackDueMinutes]
  }
  expect(await timesAfter({})).toEqual([60, 0])
  expect(await timesAfter({ appointmentDueMinutes: 0 })).toEqual([0, 0])
  expect(await timesAfter({ callbackDueMinutes: 10_080 })).toEqual([0, 10_080])
  const { entries } = await audit.listAudit({ accountId })
  const changes = entries.flatMap((entry) => (entry.action === 'account.updated' ? [entry.changes] : []))
  expect(changes.map((change) => JSON.parse(change))).toEqual([
    { callback_due_minutes: { from: 0, to: 10_080 } },
    { appointment_due_minutes: { from: 60, to: 0 } },
  ])
})

test('the last use of a token is noted, and noted again ten seconds later', async () => {
  const { accountId, secret, tokenId } = await newAccount(service)
  const noted = async () => {
    const { tokens } = await service.accounts.listTokens({ accountId, limit: 100 })
    return tokens[0]!.lastUsedAt
  }
  expect(await noted()).toBeUndefined()
  await verify(secret, secret)
  const first = await noted()
  expect(first).toMatch(/\.\d{6}Z$/)
  await verify(secret)
  expect(await noted()).toBe(first)
  await service.db.query({
    text: `UPDATE tokens SET last_used_at = last_used_at - interval '11 seconds' WHERE id = $1`,
    values: [tokenId],
  })
  await verify(secret)
  const later = await noted()
  expect(later! > first!).toBe(true)
  await service.accounts.revokeToken({ accountId, tokenId })
  await service.db.query({
    text: `UPDATE tokens SET last_used_at = last_used_at - interval '1 hour' WHERE id = $1`,
    values: [tokenId],
  })
  await verify(secret)
  expect((await noted())! < first!).toBe(true)
})

test('ten processes that migrate at once migrate once', async () => {
  const { createDatabase } = await import('@leadwire/test-kit')
  const { connectDatabase, createLifecycle, createLogger } = await import('@leadwire/service-kit')
  const database = await createDatabase({ name: 'fresh' })
  const lifecycle = createLifecycle(createLogger({ service: 'spec', level: 'silent' }))
  const db = connectDatabase({ url: database.url, poolSize: 2, lifecycle })
  await Promise.all(Array.from({ length: 10 }, () => migrate(database.url, migrations)))
  const [{ count }] = (await db.query<{ count: number }>({
    text: 'SELECT count(*) FROM knex_migrations',
  })) as [{ count: number }]
  expect(count).toBe(migrations.length)
  await lifecycle.stop()
  await database.drop()
})
