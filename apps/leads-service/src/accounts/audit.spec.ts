import { randomUUID } from 'node:crypto'
import type { AuditPosition } from '@leadwire/contracts'
import { SELECT_AUDIT } from '@leadwire/service-kit'
import { newAccount, newImage, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const listed = async (accountId: number, before?: AuditPosition) =>
  (await service.audit.listAudit({ accountId, before })).entries

/** Reads the audit log of an account without the values that differ between runs. */
const readAudit = async (accountId: number) =>
  (await listed(accountId)).map(({ id, at, changes, ...entry }) => {
    expect([id, at]).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/\.\d{6}Z$/)])
    return { ...entry, changes: JSON.parse(changes) }
  })

const made = (fields: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(fields).map(([field, to]) => [field, { from: null, to }]))

const HIDDEN = { from: null, to: null }

test('each change is recorded with who made it, and none of its secrets', async () => {
  const { accountId, tokenId, secret } = await newAccount(service)
  const by = { actor: { tokenId, tokenName: 'first', requestId: 'request-1' } }
  const { accounts, attachments } = service
  const email = 'sam@example.test'
  const { user } = await accounts.createUser({ accountId, email, name: 'Sam' }, by)
  const made2 = await accounts.createToken(
    { accountId, name: 'CRM', scopes: ['leads'], test: true, expiresAt: '2999-01-01T00:00:00Z' },
    by,
  )
  const { token } = await accounts.revokeToken({ accountId, tokenId: made2.token!.id }, by)
  const file = { key: `images/${randomUUID()}.png`, fileName: 'w.png', fileSize: 3, contentType: 'image/png' }
  const image = JSON.parse(
    (await attachments.createImage({ accountId, file: { ...file, name: '' } }, by)).body.toString(),
  ).data
  const told = await readAudit(accountId)
  const actor = { tokenId, tokenName: 'first', userId: undefined, requestId: 'request-1' }
  const operator = { tokenId: undefined, tokenName: undefined, userId: undefined, requestId: undefined }
  expect(told).toEqual([
    {
      action: 'image.created',
      targetType: 'image',
      targetId: image.id,
      ...actor,
      changes: made({ file_name: 'w.png', file_size: 3, content_type: 'image/png' }),
    },
    {
      action: 'token.revoked',
      targetType: 'token',
      targetId: token!.id,
      ...actor,
      changes: made({ revoked_at: token!.revokedAt }),
    },
    {
      action: 'token.created',
      targetType: 'token',
      targetId: token!.id,
      ...actor,
      changes: made({
        name: 'CRM',
        scopes: ['leads'],
        test: true,
        expires_at: '2999-01-01T00:00:00.000000Z',
      }),
    },
    {
      action: 'user.created',
      targetType: 'user',
      targetId: user!.id,
      ...actor,
      // Names and e-mail addresses of users are not kept, so that they can be erased.
      changes: { email: HIDDEN, name: HIDDEN },
    },
    {
      action: 'token.created',
      targetType: 'token',
      targetId: tokenId,
      ...operator,
      changes: made({ name: 'first', scopes: ['leads', 'manage'], test: false }),
    },
    {
      action: 'account.created',
      targetType: 'account',
      targetId: accountId,
      ...operator,
      changes: made({ name: 'Clear Windows' }),
    },
  ])
  for (const text of [secret, made2.secret]) expect(JSON.stringify(told)).not.toContain(text.slice(8))
})

test('what was refused, and what changed nothing, is not told', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const { accounts } = service
  const sam = { accountId, email: 'sam@example.test', name: 'Sam' }
  const kim = {
    accountId,
    userId: (await accounts.createUser({ ...sam, email: 'kim@example.test' })).user!.id,
  }
  await accounts.createUser(sam)
  await accounts.updateUser({ ...kim, name: 'Kim' })
  await accounts.removeUser(kim)
  await accounts.revokeToken({ accountId, tokenId })
  const before = await readAudit(accountId)
  expect(before.slice(1, 3)).toMatchObject([
    { action: 'user.removed', targetId: kim.userId, changes: { removed_at: { from: null } } },
    { action: 'user.updated', targetId: kim.userId, changes: { name: HIDDEN } },
  ])
  const first = await accounts.revokeToken({ accountId, tokenId })
  expect(first.token!.revokedAt).toEqual(expect.any(String))
  await accounts.removeUser(kim)
  for (const refused of [accounts.createUser(sam), accounts.updateUser({ ...kim, name: 'Sam' })])
    await expect(refused).rejects.toMatchObject({ code: 'invalid' })
  const { users } = await accounts.listUsers({ accountId, limit: 100 })
  await accounts.updateUser({ accountId, userId: users[0]!.id, name: 'Sam' })
  await expect(accounts.revokeToken({ accountId, tokenId: 987_654_321 })).rejects.toMatchObject({
    code: 'not_found',
  })
  const key = `images/${randomUUID()}.png`
  const file = { key, name: '', fileName: 'w.png', fileSize: 3, contentType: 'image/png' }
  await service.attachments.createImage({ accountId, file })
  await expect(service.attachments.createImage({ accountId, file })).rejects.toMatchObject({
    code: 'bad_request',
  })
  expect(await readAudit(accountId)).toEqual([
    expect.objectContaining({ action: 'image.created' }),
    ...before,
  ])
})

test('a token that is revoked by many at once is reported once', async () => {
  const { accountId, tokenId } = await newAccount(service)
  await Promise.all(Array.from({ length: 20 }, () => service.accounts.revokeToken({ accountId, tokenId })))
  const actions = (await readAudit(accountId)).map(({ action }) => action)
  expect(actions).toEqual(['token.revoked', 'token.created', 'account.created'])
})

test('a long log comes 101 at a time, each entry once, also those of one moment; each account sees its own', async () => {
  const { accountId } = await newAccount(service)
  await newImage(service, (await newAccount(service)).accountId)
  // Gives up to ten entries the same `created_at`.
  await service.db.query({
    text: `INSERT INTO audit (account_id, created_at, action, target_type, target_id, changes)
      SELECT $1, '2026-01-01'::timestamptz + (n / 10) * interval '1 microsecond', 'user.created', 'user', n, '{}'
      FROM generate_series(1, 248) AS n`,
    values: [accountId],
  })
  const seen: string[] = []
  const lengths: number[] = []
  let before: AuditPosition | undefined
  for (;;) {
    const entries = await listed(accountId, before)
    lengths.push(entries.length)
    const shown = entries.slice(0, 100)
    seen.push(...shown.map(({ at, id }) => `${at} ${id}`))
    if (entries.length <= 100) break
    before = { at: shown.at(-1)!.at, id: shown.at(-1)!.id }
  }
  expect(lengths).toEqual([101, 101, 50])
  expect(new Set(seen).size).toBe(250)
  expect(seen).toEqual(seen.toSorted().toReversed())
  const plan = await service.db.query<{ 'QUERY PLAN': string }>({
    text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF) SELECT * FROM audit
      WHERE account_id = ${accountId} AND (created_at, id) < ('infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff')
      ORDER BY created_at DESC, id DESC LIMIT 101`,
  })
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toMatch(/Index Scan Backward using audit_pkey.*rows=101/)
  expect(text).not.toMatch(/Rows Removed|Sort/)
})

test.each([
  ['2026-02-30T00:00:00.000000Z', randomUUID()],
  ['yesterday at noon', randomUUID()],
  ['2026-01-01T00:00:00.000000Z', 'no uuid'],
])('%s %s is no place in the log', async (at, id) => {
  const { accountId } = await newAccount(service)
  await expect(listed(accountId, { at, id })).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { cursor: [expect.any(String)] },
  })
})

test('a page is one range of the index, for an account with many entries among others with few', async () => {
  const heavy = 1_000_000
  await service.db.query({
    text: `INSERT INTO audit (account_id, created_at, action, target_type, target_id, changes)
      SELECT CASE WHEN n % 2 = 0 THEN ${heavy} ELSE ${heavy} + n % 101 + 1 END, now() + n * interval '1 second',
        'user.updated', 'user', 1, '{}' FROM generate_series(1, 20000) n`,
  })
  await service.db.query({ text: 'ANALYZE audit' })
  const plan = await service.db.transaction(async (tx) => {
    tx.send({ text: SELECT_AUDIT.setting })
    tx.send({ text: `PREPARE page_of_audit (bigint, timestamptz, uuid) AS ${SELECT_AUDIT.select}` })
    return tx.query<{ 'QUERY PLAN': string }>({
      text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF)
        EXECUTE page_of_audit (${heavy}, 'infinity', '${randomUUID()}')`,
    })
  })
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toContain('Index Scan Backward using audit_pkey')
  expect(text).not.toMatch(/Sort|Rows Removed/)
})
