import { randomUUID } from 'node:crypto'
import { NotificationRequested } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import { Client } from 'pg'
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

const createLead = async (accountId: number, over = {}) =>
  readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId, { lead: newLead(over) })] }))[0]

const update = async (request: Parameters<typeof service.leads.updateLead>[0]) =>
  JSON.parse((await service.leads.updateLead(request)).body.toString()).data

const notifications = async (accountId: number) => {
  const rows = await service.db.query<{ payload: Buffer }>({
    text: `SELECT payload FROM outbox WHERE type = 'notification.requested' AND account_id = $1 ORDER BY created_at`,
    values: [accountId],
  })
  return rows.map(({ payload }) => NotificationRequested.decode(payload))
}

test('only what is given changes, and updated_at moves with it', async () => {
  const { accountId } = await newAccount(service)
  const before = await createLead(accountId)
  const after = await update({
    accountId,
    reference: before.reference,
    value: 5000,
    status: 'sold',
    notify: false,
  })
  expect(after).toEqual({ ...before, value: 5000, status: 'sold', updated_at: expect.any(String) })
  expect(after.updated_at > before.updated_at).toBe(true)
})

test('nothing given, or nothing new, changes nothing, not even updated_at', async () => {
  const { accountId } = await newAccount(service)
  const before = await createLead(accountId)
  expect(await update({ accountId, reference: before.reference, notify: false })).toEqual(before)
  expect(await update({ accountId, reference: before.reference, status: 'open', notify: false })).toEqual(
    before,
  )
})

test('a lead is a test lead while its status is test', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await createLead(accountId)
  expect(await update({ accountId, reference, status: 'test', notify: false })).toMatchObject({ test: 1 })
  expect(await update({ accountId, reference, status: 'open', notify: false })).toMatchObject({ test: 0 })
})

const readTag = async (accountId: number, reference: string, leads = service.leads) =>
  (await leads.retrieveLeads({ leads: [{ accountId, reference }] })).results[0]!.etag!

test('the tag that a lead is created with changes with each change of it, and with nothing else', async () => {
  const { accountId } = await newAccount(service)
  const { results } = await service.leads.createLeads({ leads: [newItem(accountId)] })
  const [{ reference }] = readOutcomes({ results })
  const { etag } = results[0]!
  expect(etag).toMatch(/^"1-\d+"$/)
  expect(await readTag(accountId, reference)).toBe(etag)
  const unchanged = await service.leads.updateLead({ accountId, reference, ifMatch: { etags: [etag!] } })
  expect(unchanged.etag).toBe(etag)
  const changed = await service.leads.updateLead({ accountId, reference, value: 5 })
  expect(changed.etag).toMatch(/^"2-/)
  expect(await readTag(accountId, reference)).toBe(changed.etag)
})

/**
 * Locks a lead's row. `release` first waits until three changes wait for the row. These are all that can wait
 * at once, because the server runs at most three calls of an account at once.
 */
const heldUntilAllWait = async (reference: string) => {
  const [holder, watcher] = [1, 2].map(() => new Client({ connectionString: service.database.url })) as [
    Client,
    Client,
  ]
  await Promise.all([holder.connect(), watcher.connect()])
  await holder.query('BEGIN')
  await holder.query('SELECT id FROM leads WHERE reference = $1 FOR UPDATE', [reference])
  const release = async () => {
    await eventually(async () => {
      const { rows } = await watcher.query(
        `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      expect(rows[0].count).toBe(3)
    })
    await Promise.all([holder.end(), watcher.end()])
  }
  return { release }
}

test('of twenty changes that demand the same version one is made', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await createLead(accountId)
  const etags = [await readTag(accountId, reference)]
  const { release } = await heldUntilAllWait(reference)
  const asked = Array.from({ length: 20 }, (_, index) =>
    update({ accountId, reference, value: index + 1, ifMatch: { etags } }),
  )
  const [settled] = await Promise.all([Promise.allSettled(asked), release()])
  const made = settled.filter((result) => result.status === 'fulfilled')
  const refused = settled.filter((result) => result.status === 'rejected').map(({ reason }) => reason.code)
  expect(made).toHaveLength(1)
  expect(refused).toEqual(Array(19).fill('precondition_failed'))
  expect(await readTag(accountId, reference)).toMatch(/^"2-/)
  const [now] = readOutcomes(await service.leads.retrieveLeads({ leads: [{ accountId, reference }] }))
  expect(now.value).toBe(made[0]!.value.value)
})

test('a change for another version changes and publishes nothing, and an invalid one reports its errors', async () => {
  const { accountId } = await newAccount(service)
  await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const before = await createLead(accountId)
  const asked = { accountId, reference: before.reference, notify: true, userEmail: 'sam@example.test' }
  for (const etags of [
    ['"2-1"'],
    [],
    ['"11-1"', '"1"', '1-1'],
    ['"1-bogus"', '"1-"', '"1-1-1"', '"1-1"x', '"01-1"'],
  ])
    await expect(update({ ...asked, ifMatch: { etags } })).rejects.toMatchObject({
      code: 'precondition_failed',
    })
  expect(await notifications(accountId)).toEqual([])
  expect(await readTag(accountId, before.reference)).toMatch(/^"1-/)
  const ifMatch = { etags: ['"2-1"'] }
  await expect(update({ ...asked, ifMatch, userEmail: 'no@example.test' })).rejects.toMatchObject({
    code: 'invalid',
  })
  await expect(update({ ...asked, ifMatch, reference: randomUUID() })).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('notify tells the user the lead is assigned to after the change, and nobody when there is none', async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'Sam@example.test', name: 'Sam' })
  const { reference } = await createLead(accountId)
  await update({ accountId, reference, value: 1, notify: true })
  expect(await notifications(accountId)).toEqual([])
  await update({ accountId, reference, userEmail: 'sam@EXAMPLE.test', notify: true })
  expect(await notifications(accountId)).toMatchObject([
    {
      subject: 'assigned',
      userId: user!.id,
      userEmail: 'Sam@example.test',
      userName: 'Sam',
      accountName: 'Clear Windows',
      leadReference: reference,
      leadName: 'Bay window',
      leadStatus: 'open',
      customerName: 'Ada Byron',
      customerPhone: '01632 960123',
      customerPostcode: 'SW1A 1AA',
      requestedAt: expect.stringMatching(/\.\d{6}Z$/),
    },
  ])
  await update({ accountId, reference, value: 2, notify: false })
  expect(await notifications(accountId)).toHaveLength(1)
})

test('an unknown user is an error and leaves the lead as it was', async () => {
  const { accountId } = await newAccount(service)
  const other = await newAccount(service)
  await service.accounts.createUser({ accountId: other.accountId, email: 'kim@example.test', name: 'Kim' })
  const before = await createLead(accountId)
  const attempt = update({
    accountId,
    reference: before.reference,
    value: 9,
    userEmail: 'kim@example.test',
    notify: false,
  })
  await expect(attempt).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { user_email: [expect.any(String)] },
  })
  const [now] = readOutcomes(
    await service.leads.retrieveLeads({ leads: [{ accountId, reference: before.reference }] }),
  )
  expect(now).toEqual(before)
})

test.each(['not-a-uuid', '6f1c2c0e-0000-4000-8000-000000000000'])('%s is no lead', async (reference) => {
  const { accountId } = await newAccount(service)
  await expect(update({ accountId, reference, notify: false })).rejects.toMatchObject({ code: 'not_found' })
})

test('another account’s lead is no lead', async () => {
  const [mine, other] = [await newAccount(service), await newAccount(service)]
  const { reference } = await createLead(mine.accountId)
  const asked = { accountId: other.accountId, reference }
  await expect(update({ ...asked, value: 1, notify: false })).rejects.toMatchObject({ code: 'not_found' })
  const [retrieved] = readOutcomes(await service.leads.retrieveLeads({ leads: [asked] }))
  expect(retrieved.failure.code).toBe('not_found')
})
