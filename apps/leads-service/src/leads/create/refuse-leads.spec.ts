import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const limited = ({ accountId, tokenId }: { accountId: number; tokenId: number }, dailyLimit: number) =>
  newItem(accountId, { dailyLimit, actor: { tokenId, tokenName: 'Form', requestId: 'r' } })

test('two copies share the limit of a token, whose leads others do not use up', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const items = () => Array.from({ length: 7 }, () => limited(mine, 10))
  const [one, two] = await Promise.all([
    service.leads.createLeads({ leads: [...items(), limited(other, 1)] }),
    service.otherLeads.createLeads({ leads: [...items(), newItem(mine.accountId)] }),
  ])
  const outcomes = [...readOutcomes(one), ...readOutcomes(two)]
  const failures = outcomes.flatMap(({ failure }) => failure ?? [])
  expect(failures.map(({ code }) => code)).toEqual(new Array(4).fill('rate_limited'))
  expect(failures[0].retryAfterS).toBeGreaterThan(0)
  expect(failures[0].retryAfterS).toBeLessThanOrEqual(86_400)
})

test('the next day begins anew, and a refused lead is none', async () => {
  const account = await newAccount(service)
  const create = async (change = {}) => {
    const item = { ...limited(account, 1), ...change }
    return readOutcomes(await service.leads.createLeads({ leads: [item] }))[0].failure?.code
  }
  expect(await create({ lead: newLead({ userId: 987_654 }) })).toBe('invalid')
  expect([await create(), await create()]).toEqual([undefined, 'rate_limited'])
  await service.db.query({ text: 'UPDATE tokens SET captured_on = captured_on - 1' })
  expect([await create(), await create()]).toEqual([undefined, 'rate_limited'])
})

test('a saved response that is older than asked counts as none', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const create = async () => {
    const idempotency = { tokenId, key: 'k', fingerprint: Buffer.from('f'), maxAgeS: 600 }
    const item = { ...newItem(accountId, { idempotency }) }
    return readOutcomes(await service.leads.createLeads({ leads: [item] }))[0].reference
  }
  const age = (seconds: number) =>
    service.db.query({
      text: `UPDATE idempotency_keys SET created_at = created_at - ${seconds} * interval '1 second'`,
    })
  const first = await create()
  await age(590)
  expect(await create()).toBe(first)
  await age(20)
  const second = await create()
  expect(second).not.toBe(first)
  expect(await create()).toBe(second)
})
