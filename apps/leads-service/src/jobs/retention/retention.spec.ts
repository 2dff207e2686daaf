import { leadJsonFormat } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'
import { eraseOldLeads } from './erase-old-leads'

const ASSETS_URL = 'http://localhost:3000/assets'
const RULE = { statuses: ['lost', 'spam'], months: 24 }

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

/** Creates leads that last changed a number of months ago. Resolves with their references. */
const createLeads = async (accountId: number, monthsAgo: number, statuses: string[]): Promise<string[]> => {
  const leads = statuses.map((status) => newItem(accountId, { lead: newLead({ status }) }))
  const created = readOutcomes(await service.leads.createLeads({ leads }))
  const references = created.map(({ reference }) => reference as string)
  await service.db.query({
    text: `UPDATE leads SET updated_at = now() - make_interval(months => $2, mins => 1)
      WHERE reference = ANY ($1)`,
    values: [references, monthsAgo],
  })
  return references
}

const setRule = (accountId: number, rule = RULE, dryRun = false) =>
  service.accounts.setLeadRetention({ accountId, retention: rule, dryRun })

/** Runs rounds until none is due. */
const runRounds = async () => {
  const { db: database } = service
  const deps = { database, assetsUrl: ASSETS_URL, jsonFormat: leadJsonFormat(ASSETS_URL) }
  while (await eraseOldLeads(deps));
}

const listErased = async (accountId: number): Promise<string[]> => {
  const rows = await service.db.query<{ reference: string }>({
    text: 'SELECT reference FROM leads WHERE account_id = $1 AND erased_at IS NOT NULL ORDER BY number',
    values: [accountId],
  })
  return rows.map(({ reference }) => reference)
}

/** Makes the next round of an account due, as if its pause had passed. */
const passTime = (accountId: number) =>
  service.db.query({
    text: "UPDATE lead_retention SET due_at = now() - interval '1 second' WHERE account_id = $1",
    values: [accountId],
  })

test('erases old leads of the statuses that have no open entry, with a receipt and an event', async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const [lost, open, spam, called] = await createLeads(accountId, 24, ['lost', 'open', 'spam', 'lost'])
  await createLeads(accountId, 23, ['lost'])
  const entry = { accountId, reference: called!, userId: user!.id, date: '2026-03-28T09:30:00Z' }
  const callback = { ...entry, notify: false, idempotency: undefined }
  await service.leads.scheduleCallback({ callback })

  expect(await setRule(accountId)).toEqual({ matched: 2, capped: false })
  await runRounds()
  expect(await listErased(accountId)).toEqual([lost, spam])
  const { body } = await service.leads.retrieveErasure({ accountId, reference: lost! })
  expect(JSON.parse(body.toString()).data).toMatchObject({ status: 'running', actor: null })
  const events = await service.db.query({
    text: "SELECT lead_reference FROM outbox WHERE account_id = $1 AND type = 'lead.erased' ORDER BY created_at",
    values: [accountId],
  })
  expect(events).toEqual([{ lead_reference: lost }, { lead_reference: spam }])

  await service.leads.cancelCallback({ change: { accountId, reference: called!, id: 1, notify: false } })
  await passTime(accountId)
  await runRounds()
  expect(await listErased(accountId)).toEqual([lost, spam, called])
  expect(await listErased(accountId)).not.toContain(open)
})

test('a dry run counts the leads, and changes nothing', async () => {
  const { accountId } = await newAccount(service)
  await createLeads(accountId, 30, ['lost', 'spam', 'sold'])
  expect(await setRule(accountId, RULE, true)).toEqual({ matched: 2, capped: false })
  expect(await setRule(accountId, { statuses: ['sold'], months: 31 }, true)).toMatchObject({ matched: 0 })
  expect((await service.accounts.retrieveLeadRetention({ accountId })).retention).toBeUndefined()
  await runRounds()
  expect(await listErased(accountId)).toEqual([])
})

test('erases at most 100 leads a minute', async () => {
  const { accountId } = await newAccount(service)
  const references = await createLeads(accountId, 30, Array(250).fill('lost'))
  await setRule(accountId)
  for (const erased of [100, 200, 250]) {
    await runRounds()
    expect(await listErased(accountId)).toEqual(references.slice(0, erased))
    const [row] = await service.db.query<{ wait: number }>({
      text: 'SELECT extract(epoch FROM due_at - now())::int AS wait FROM lead_retention WHERE account_id = $1',
      values: [accountId],
    })
    expect(row!.wait).toBeGreaterThan(30)
    await passTime(accountId)
  }
})

test('reads past thousands of leads that the rule does not apply to, and starts again at the end', async () => {
  const { accountId } = await newAccount(service)
  for (let batch = 0; batch < 5; batch++) await createLeads(accountId, 40, Array(500).fill('open'))
  const [first] = await createLeads(accountId, 30, ['lost'])
  await setRule(accountId)
  await runRounds()
  expect(await listErased(accountId)).toEqual([first])
  const [second] = await createLeads(accountId, 50, ['lost'])
  await passTime(accountId)
  await runRounds()
  expect(await listErased(accountId)).toEqual([first, second])
})

test('a suspended account, and an account that has ended the rule, keep their leads', async () => {
  const [suspended, ended] = [await newAccount(service), await newAccount(service)]
  for (const { accountId } of [suspended, ended]) {
    await createLeads(accountId, 30, ['lost'])
    await setRule(accountId)
  }
  await service.accounts.suspendAccount({ accountId: suspended.accountId })
  await service.accounts.endLeadRetention({ accountId: ended.accountId })
  await runRounds()
  expect(await listErased(suspended.accountId)).toEqual([])
  expect(await listErased(ended.accountId)).toEqual([])
})

test('the audit log shows each change of the rule', async () => {
  const { accountId } = await newAccount(service)
  await setRule(accountId)
  await setRule(accountId)
  await service.accounts.endLeadRetention({ accountId })
  await service.accounts.endLeadRetention({ accountId })
  const { entries } = await service.audit.listAudit({ accountId })
  const changes = entries.flatMap(({ action, changes }) => (action === 'account.updated' ? [changes] : []))
  expect(changes.map((change) => JSON.parse(change))).toEqual([
    { lead_retention: { from: RULE, to: null } },
    { lead_retention: { from: null, to: RULE } },
  ])
})
