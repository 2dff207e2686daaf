import { createHash } from 'node:crypto'
import { skewClock } from '@leadwire/test-kit'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
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
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  // Another user has callbacks too, so that only an index on the user has the calendar in one range.
  const other = await service.accounts.createUser({ accountId, email: 'kim@example.test', name: 'Kim' })
  // Inserts a callback of each user for every two hours, from a year ago to a year from now.
  await service.db.query({
    text: `INSERT INTO callbacks (account_id, lead_id, user_id, date, notify, invitation_id)
      SELECT $1, $2, user_id, now() + n * interval '2 hours' + interval '1 minute', false, gen_random_uuid()
      FROM generate_series(-4380, 4380) n, unnest($3::bigint[]) user_id`,
    values: [accountId, lead.id, [user!.id, other.user!.id]],
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

const hashSecret = (secret: string) => createHash('sha256').update(secret).digest()

/** Creates a token and a user. Then creates a calendar of the user with this token. */
const newCalendar = async (expiresAt?: string) => {
  const { accountId } = await newAccount(service)
  const { accounts, leads } = service
  const fields = { accountId, name: 'Console', scopes: ['manage'], expiresAt }
  const tokenId = (await accounts.createToken(fields)).token!.id
  const { user } = await accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const by = { actor: { tokenId, tokenName: 'Console', requestId: 'request-1' } }
  const made = await accounts.createUserCalendar({ accountId, userId: user!.id }, by)
  const read = () => leads.findCalendar({ hash: hashSecret(made.secret) })
  const retrieveUser = async () => (await accounts.retrieveUser({ accountId, userId: user!.id })).user!
  await read()
  return { accountId, tokenId, user: made.user!, read, retrieveUser }
}

const EXPIRY = '2999-01-01T00:00:00.000000Z'

test('a calendar expires with the token that made it, by PostgreSQL’s clock', async () => {
  const { tokenId, user, read } = await newCalendar(EXPIRY)
  expect(user.calendarExpiresAt).toBe(EXPIRY)
  const expire = (seconds: number) =>
    service.db.query({
      text: `UPDATE users SET calendar_expires_at = clock_timestamp() + $1 * interval '1 second'
        WHERE calendar_token_id = $2`,
      values: [seconds, tokenId],
    })
  await expire(600)
  skewClock(3_600_000)
  await read().finally(() => jest.useRealTimers())
  await expire(0)
  await expect(read()).rejects.toMatchObject({ code: 'not_found' })
})

test('a calendar of a token that expires ends when the token is revoked, which is logged', async () => {
  const { accountId, tokenId, user, read, retrieveUser } = await newCalendar(EXPIRY)
  await service.accounts.revokeToken({ accountId, tokenId })
  await expect(read()).rejects.toMatchObject({ code: 'not_found' })
  expect(await retrieveUser()).toMatchObject({ calendarCreatedAt: undefined, calendarExpiresAt: undefined })
  const { entries } = await service.audit.listAudit({ accountId })
  expect(entries[0]).toMatchObject({
    action: 'user.calendar_revoked',
    targetId: user.id,
    changes: JSON.stringify({ calendar_created_at: { from: user.calendarCreatedAt, to: null } }),
  })
})

test('a calendar of a token that does not expire outlives the token, but not its revocation with all that it created', async () => {
  const { accountId, tokenId, user, read } = await newCalendar()
  expect(user.calendarExpiresAt).toBeUndefined()
  await service.accounts.revokeToken({ accountId, tokenId })
  await read()
  await service.accounts.revokeToken({ accountId, tokenId, cascade: true })
  await expect(read()).rejects.toMatchObject({ code: 'not_found' })
})

test('a calendar that is made anew expires with the token that made it last', async () => {
  const { accountId, tokenId, user, retrieveUser } = await newCalendar(EXPIRY)
  const { secret } = await service.accounts.createUserCalendar({ accountId, userId: user.id })
  expect((await retrieveUser()).calendarExpiresAt).toBeUndefined()
  await service.accounts.revokeToken({ accountId, tokenId, cascade: true })
  await service.leads.findCalendar({ hash: hashSecret(secret) })
})

test('a suspended account has no calendars until it is resumed', async () => {
  const { accountId } = await newAccount(service)
  const { accounts, leads } = service
  const { user } = await accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const { secret } = await accounts.createUserCalendar({ accountId, userId: user!.id })
  const find = () => leads.findCalendar({ hash: hashSecret(secret) })
  const found = { accountId, userId: user!.id, userName: 'Sam' }
  expect(await find()).toEqual(found)
  await accounts.suspendAccount({ accountId })
  await expect(find()).rejects.toMatchObject({ code: 'not_found' })
  await accounts.resumeAccount({ accountId })
  expect(await find()).toEqual(found)
})
