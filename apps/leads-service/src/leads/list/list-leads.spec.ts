import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readLeadPage,
  readOutcomes,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const readPages = async (pages: { accountId: number; page: number }[]) => {
  const { results } = await service.leads.listLeads({ pages })
  return results.map(readLeadPage).map(({ items, ...rest }) => ({
    ...rest,
    names: JSON.parse(items.toString()).map((lead: { name: string }) => lead.name),
  }))
}

test('pages are newest first, each for its own account, and end where the leads do', async () => {
  const [full, empty] = [await newAccount(service), await newAccount(service)]
  const names = Array.from({ length: 45 }, (_, index) => `lead ${index + 1}`)
  await service.leads.createLeads({
    leads: names.map((name) => newItem(full.accountId, { lead: newLead({ name }) })),
  })
  const newestFirst = names.toReversed()
  const pages = await readPages([
    { accountId: full.accountId, page: 3 },
    { accountId: empty.accountId, page: 1 },
    { accountId: full.accountId, page: 1 },
    { accountId: full.accountId, page: 4 },
    { accountId: full.accountId, page: Number.MAX_SAFE_INTEGER },
  ])
  expect(pages).toEqual([
    { perPage: 20, total: 45, count: 5, names: newestFirst.slice(40) },
    { perPage: 20, total: 0, count: 0, names: [] },
    { perPage: 20, total: 45, count: 20, names: newestFirst.slice(0, 20) },
    { perPage: 20, total: 45, count: 0, names: [] },
    { perPage: 20, total: 45, count: 0, names: [] },
  ])
})

test('a list item has the fields from id to updated_at, in order, and no others', async () => {
  const { accountId } = await newAccount(service)
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const { customer: _customer, quotes: _quotes, ...item } = lead
  const { results } = await service.leads.listLeads({ pages: [{ accountId, page: 1 }] })
  expect(readLeadPage(results[0]!).items.toString()).toBe(JSON.stringify([item]))
})

test('a page reads its own rows by the index, at any depth', async () => {
  const { accountId } = await newAccount(service)
  const leads = Array.from({ length: 300 }, () => newItem(accountId))
  await service.leads.createLeads({ leads })
  await service.db.query({ text: 'ANALYZE leads' })
  const plan = await service.db.query<{ 'QUERY PLAN': string }>({
    text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF)
      SELECT * FROM leads WHERE account_id = ${accountId} AND number <= 20 AND number > 0 ORDER BY number DESC`,
  })
  const text = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(text).toMatch(/Index Scan.*leads_account_id_number_key/)
  expect(text).not.toMatch(/Rows Removed/)
})
