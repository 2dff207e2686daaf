import { randomUUID } from 'node:crypto'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const actor = (tokenId: number, requestId: string) => ({ tokenId, tokenName: '', requestId })

const created = async (over: Partial<ReturnType<typeof newItem>> = {}) => {
  const { accountId, tokenId } = await newAccount(service)
  const item = newItem(accountId, { actor: actor(tokenId, 'made-it'), ...over })
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [item] }))
  return { accountId, tokenId, lead, reference: lead.reference as string }
}

const readHistory = async (accountId: number, reference: string, before?: number) => {
  const { items, nextBefore } = await service.leads.listLeadHistory({ accountId, reference, before })
  return { entries: JSON.parse(items.toString()), nextBefore }
}

const FIRST = { name: 'first' }

test('who created and changed a lead, when, and from what to what, newest first', async () => {
  const { accountId, tokenId, lead, reference } = await created()
  const { token } = await service.accounts.createToken({ accountId, name: 'CRM', scopes: ['leads'] })
  const [sam, kim] = await Promise.all(
    ['sam', 'kim'].map(async (name) => {
      const email = `${name}@example.test`
      return { id: (await service.accounts.createUser({ accountId, email, name })).user!.id, email }
    }),
  )
  const update = (request: object, requestId: string, by = tokenId) =>
    service.leads.updateLead({ accountId, reference, ...request }, { actor: actor(by, requestId) })
  await update({ status: 'sold', value: 5000, userEmail: 'SAM@example.test' }, 'two')
  await update({ status: 'sold' }, 'nothing-new')
  await update({ userEmail: kim!.email }, 'three', token!.id)
  await expect(update({ value: 1, ifMatch: { etags: ['"1-1"'] } }, 'too-late')).rejects.toMatchObject({
    code: 'precondition_failed',
  })
  const { body } = await service.leads.updateLead({ accountId, reference, value: 0 })
  const { entries, nextBefore } = await readHistory(accountId, reference.toUpperCase())
  const by = { token: { id: tokenId, ...FIRST }, actor: { type: 'token', id: tokenId, ...FIRST } }
  const at = expect.stringMatching(/\.\d{6}Z$/)
  expect(entries).toEqual([
    {
      version: 4,
      at: JSON.parse(body.toString()).data.updated_at,
      action: 'updated',
      actor: null,
      token: null,
      request_id: null,
      changes: [{ field: 'value', from: 5000, to: 0 }],
    },
    {
      version: 3,
      at,
      action: 'updated',
      actor: { type: 'token', id: token!.id, name: 'CRM' },
      token: { id: token!.id, name: 'CRM' },
      request_id: 'three',
      changes: [{ field: 'user', from: sam, to: kim }],
    },
    {
      version: 2,
      at,
      action: 'updated',
      ...by,
      request_id: 'two',
      changes: [
        { field: 'status', from: 'open', to: 'sold' },
        { field: 'value', from: 0, to: 5000 },
        { field: 'user', from: null, to: sam },
      ],
    },
    { version: 1, at: lead.created_at, action: 'created', ...by, request_id: 'made-it', changes: [] },
  ])
  expect(nextBefore).toBeUndefined()
})

test('each change of many at once is recorded, in the order in which they were made', async () => {
  const { accountId, reference } = await created()
  const values = Array.from({ length: 40 }, (_, index) => index + 1)
  await Promise.all(values.map((value) => service.leads.updateLead({ accountId, reference, value })))
  const { entries } = await readHistory(accountId, reference)
  const changes = entries.slice(0, -1).map((entry: { changes: [object] }) => entry.changes[0])
  expect(entries.map(({ version }: { version: number }) => version)).toEqual(
    Array.from({ length: 41 }, (_, index) => 41 - index),
  )
  for (const [index, change] of changes.entries()) expect(change.from).toBe(changes[index + 1]?.to ?? 0)
  expect(new Set(changes.map(({ to }: { to: number }) => to))).toEqual(new Set(values))
})

test('a long history comes a hundred at a time, each entry once', async () => {
  const { accountId, reference, lead } = await created()
  const changes = (from: number, to: number) =>
    service.db.query({
      text: `INSERT INTO lead_changes (account_id, lead_id, version, changes, created_at)
        SELECT $1, $2, version, '[]', clock_timestamp()
        FROM generate_series($3::int, $4::int) AS version`,
      values: [accountId, lead.id, from, to],
    })
  const walk = async () => {
    const [versions, lengths]: [number[], number[]] = [[], []]
    let before: number | undefined
    do {
      const { entries, nextBefore } = await readHistory(accountId, reference, before)
      versions.push(...entries.map(({ version }: { version: number }) => version))
      lengths.push(entries.length)
      before = nextBefore
    } while (before !== undefined)
    return { versions, lengths }
  }
  const down = (from: number) => Array.from({ length: from }, (_, index) => from - index)
  await changes(2, 100)
  expect(await walk()).toEqual({ versions: down(100), lengths: [100] })
  await changes(101, 101)
  expect(await walk()).toEqual({ versions: down(101), lengths: [100, 1] })
  await changes(102, 250)
  expect(await walk()).toEqual({ versions: down(250), lengths: [100, 100, 50] })
  const plan = await service.db.query<{ 'QUERY PLAN': string }>({
    text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF) SELECT * FROM lead_changes
      WHERE account_id = ${accountId} AND lead_id = ${lead.id} AND version < 200::bigint
      ORDER BY version DESC LIMIT 101`,
  })
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toMatch(/Index Scan Backward using lead_changes_pkey.*rows=101/)
  expect(text).not.toMatch(/Rows Removed|Sort/)
})

test('a lead of before this was recorded has no creator', async () => {
  const { accountId, reference, lead } = await created({ actor: undefined })
  expect((await readHistory(accountId, reference)).entries).toEqual([
    {
      version: 1,
      at: lead.created_at,
      action: 'created',
      actor: null,
      token: null,
      request_id: null,
      changes: [],
    },
  ])
})

test('a replayed create leaves the first request in the history', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const idempotency = { tokenId, key: randomUUID(), fingerprint: Buffer.alloc(32) }
  const create = async (requestId: string) => {
    const item = newItem(accountId, { idempotency, actor: actor(tokenId, requestId) })
    const response = await service.leads.createLeads({ leads: [item] })
    return { etag: response.results[0]!.etag, reference: readOutcomes(response)[0].reference }
  }
  const first = await create('one')
  await service.leads.updateLead({ accountId, reference: first.reference, value: 1 })
  expect(await create('two')).toEqual(first)
  const { entries } = await readHistory(accountId, first.reference)
  expect(entries.at(-1)).toMatchObject({ version: 1, request_id: 'one' })
})

test('another account’s lead, and one that is not there, have no history', async () => {
  const [{ accountId }, { reference }] = [await newAccount(service), await created()]
  for (const asked of [reference, randomUUID(), 'no uuid'])
    await expect(readHistory(accountId, asked)).rejects.toMatchObject({ code: 'not_found' })
})
