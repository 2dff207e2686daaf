import { createHash } from 'node:crypto'
import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

test('a calendar has the next 250 of each kind, and the last 100 of 90 days', async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  // Every two hours, from a year ago to a year from now.
  await service.db.query({
    text: `INSERT INTO callbacks (account_id, lead_id, user_id, date, notify)
      SELECT $1, $2, $3, now() + n * interval '2 hours' + interval '1 minute', false FROM generate_series(-4380, 4380) n`,
    values: [accountId, lead.id, user!.id],
  })
  const { entries } = await service.leads.listCalendarEntries({ accountId, userId: user!.id })
  const hours = entries.map(({ date }) => Math.round((Date.parse(date) - Date.now()) / 3_600_000))
  expect([hours.length, hours[0], hours.at(-1)]).toEqual([350, -200, 498])
  await service.db.query({ text: 'ANALYZE callbacks' })
  const plan = await service.db.query<{ 'QUERY PLAN': string }>({
    text: `EXPLAIN SELECT id FROM callbacks WHERE account_id = ${accountId} AND user_id = ${user!.id}
      AND cancelled_at IS NULL AND date >= now() ORDER BY date LIMIT 250`,
  })
  expect(plan.map((row) => row['QUERY PLAN']).join()).toMatch(/Index.* using callbacks_of_user/)
})

test('a suspended account has no calendars until it is resumed', async () => {
  const { accountId } = await newAccount(service)
  const { accounts, leads } = service
  const { user } = await accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const { secret } = await accounts.createUserCalendar({ accountId, userId: user!.id })
  const find = () => leads.findCalendar({ hash: createHash('sha256').update(secret).digest() })
  const found = { accountId, userId: user!.id, userName: 'Sam' }
  expect(await find()).toEqual(found)
  await accounts.suspendAccount({ accountId })
  await expect(find()).rejects.toMatchObject({ code: 'not_found' })
  await accounts.resumeAccount({ accountId })
  expect(await find()).toEqual(found)
})
