import { newAccount, newImage, type RunningLeadsService, startLeadsService } from '../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService({}, { quotas: { tokens: 5, users: 4, images: 3 } })
})
afterAll(() => service.stop())

const createToken = (accountId: number, expiresAt?: string) =>
  service.accounts.createToken({
    accountId,
    name: 'Form',
    scopes: ['leads'],
    test: false,
    origins: [],
    expiresAt,
  })

let emails = 0
const createUser = (accountId: number) => {
  emails += 1
  return service.accounts.createUser({ accountId, email: `user${emails}@example.test`, name: 'Sam' })
}

/**
 * Sends 20 requests at once. Resolves with the number of successes, and the errors of the other requests.
 */
const createMany = async (create: () => Promise<unknown>) => {
  const results = await Promise.allSettled(Array.from({ length: 20 }, create))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  return { created: results.length - errors.length, errors }
}

const quotaError = (kind: string, limit: number) => ({
  code: 'invalid',
  fieldErrors: { [kind]: [expect.stringContaining(`An account may not have more than ${limit} `)] },
})

// An account has one token from the start, so the quota of five leaves room for four tokens.
test('an account never has more valid tokens than its quota, and a revoked one makes room', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const { created, errors } = await createMany(() => createToken(accountId))
  expect(created).toBe(4)
  for (const error of errors) expect(error).toMatchObject(quotaError('tokens', 5))
  await service.accounts.revokeToken({ accountId, tokenId })
  await createToken(accountId)
  await expect(createToken(accountId)).rejects.toMatchObject(quotaError('tokens', 5))
})

test('an expired token makes room', async () => {
  const { accountId } = await newAccount(service)
  const { token } = await createToken(accountId, '2999-01-01T00:00:00Z')
  for (let count = 2; count < 5; count += 1) await createToken(accountId)
  await expect(createToken(accountId)).rejects.toMatchObject(quotaError('tokens', 5))
  await service.db.query({
    text: 'UPDATE tokens SET expires_at = clock_timestamp() WHERE id = $1',
    values: [token!.id],
  })
  await createToken(accountId)
})

test('an account never has more users than its quota, and a removed one makes room', async () => {
  const { accountId } = await newAccount(service)
  const { created, errors } = await createMany(() => createUser(accountId))
  expect(created).toBe(4)
  for (const error of errors) expect(error).toMatchObject(quotaError('users', 4))
  const { users } = await service.accounts.listUsers({ accountId, limit: 100 })
  await service.accounts.removeUser({ accountId, userId: users[0]!.id })
  await createUser(accountId)
  await expect(createUser(accountId)).rejects.toMatchObject(quotaError('users', 4))
})

test('an account never has more images than its quota', async () => {
  const { accountId } = await newAccount(service)
  const { created, errors } = await createMany(() => newImage(service, accountId))
  expect(created).toBe(3)
  for (const error of errors) expect(error).toMatchObject(quotaError('images', 3))
})

test('accounts do not share a quota', async () => {
  const { accountId } = await newAccount(service)
  for (const create of [createToken, createUser]) await create(accountId)
  await newImage(service, accountId)
})
