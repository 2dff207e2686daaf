import { newAccount, type RunningLeadsService, startLeadsService } from '../../leads-service.fixture'
import type { Dependencies } from '../../operation'
import { claimImport } from './claim-import'
import { createImport } from './create-import'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const deps = () => ({ database: service.db }) as Dependencies

const newImport = (accountId: number) =>
  createImport(deps(), {
    accountId,
    format: 'csv',
    webhooks: false,
    key: `imports/${accountId}.txt`,
    fileSize: 1,
    visitor: { userAgent: '', ip: '', test: false },
    idempotency: undefined,
  })

const claimed = async () => (await claimImport(deps(), {})).import

test('an import of a suspended account waits until it is resumed, and no longer than a day', async () => {
  const { accountId } = await newAccount(service)
  await newImport(accountId)
  await service.accounts.suspendAccount({ accountId })
  expect(await claimed()).toBeUndefined()
  await service.accounts.resumeAccount({ accountId })
  expect(await claimed()).toMatchObject({ claim: { accountId }, state: 'running' })

  await service.accounts.suspendAccount({ accountId })
  await service.db.query({
    text: `UPDATE imports SET created_at = created_at - interval '25 hours', claimed_until = created_at`,
  })
  expect(await claimed()).toMatchObject({ claim: { accountId }, state: 'failed' })
})

test('an import whose claim ends in an hour is claimed, because the clock has gone back', async () => {
  const { accountId } = await newAccount(service)
  await newImport(accountId)
  await claimed()
  expect(await claimed()).toBeUndefined()
  await service.db.query({
    text: `UPDATE imports SET claimed_until = claimed_until + interval '1 hour' WHERE account_id = $1`,
    values: [accountId],
  })
  expect(await claimed()).toMatchObject({ claim: { accountId } })
})
