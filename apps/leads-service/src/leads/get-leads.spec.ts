import type { GetLead } from '@leadwire/contracts'
import {
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  outcomesOf,
  quoteOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const newLeadWithQuote = async (accountId: number) => {
  const quotes = [quoteOf(itemWith(await newImage(service, accountId, { alt: 'a window' })))]
  const response = await service.leads.createLeads({
    leads: [newItem(accountId, { lead: newLead({ quotes }) })],
  })
  return outcomesOf(response)[0]
}

const read = async (asked: GetLead) => (await service.leads.getLeads({ leads: [asked] })).results[0]!

const UNCHANGED = { $case: 'unchanged', value: true }

test('what the caller has of the same version is not sent again, and never stands for what another account asks', async () => {
  const [{ accountId }, stranger] = [await newAccount(service), await newAccount(service)]
  const [{ reference }, other] = [await newLeadWithQuote(accountId), await newLeadWithQuote(accountId)]
  const { version: knownVersion } = await read({ accountId, reference })
  const { results } = await service.leads.getLeads({
    leads: [
      { accountId, reference, knownVersion },
      { accountId, reference },
      { accountId: stranger.accountId, reference, knownVersion },
      { accountId, reference: other.reference, knownVersion },
      { accountId, reference: 'no-reference', knownVersion },
    ],
  })
  expect(results[0]).toEqual({ result: UNCHANGED, version: knownVersion })
  const notFound = { failure: expect.objectContaining({ code: 'not_found' }) }
  expect(outcomesOf({ results }).slice(1)).toEqual([
    expect.objectContaining({ reference }),
    notFound,
    expect.objectContaining({ reference: other.reference }),
    notFound,
  ])
})

test.each([
  ['the lead', 'leads', `name = 'Changed' WHERE reference = $1`],
  [
    'its customer',
    'customers',
    `last_name = 'Changed' WHERE id = (SELECT customer_id FROM leads WHERE reference = $1)`,
  ],
  ['a quote', 'quotes', `status = 'Changed' WHERE lead_id = (SELECT id FROM leads WHERE reference = $1)`],
  [
    'an item of a quote',
    'quote_items',
    `product_name = 'Changed' WHERE quote_id IN (SELECT id FROM quotes WHERE lead_id = (SELECT id FROM leads WHERE reference = $1))`,
  ],
  [
    'an image of an item',
    'images',
    `alt = 'Changed' WHERE id IN (SELECT image_id FROM quote_items JOIN quotes q ON q.id = quote_id
      WHERE lead_id = (SELECT id FROM leads WHERE reference = $1))`,
  ],
])('whoever changes %s, its version is another', async (_what, table, change) => {
  const { accountId } = await newAccount(service)
  const [{ reference }, other] = [await newLeadWithQuote(accountId), await newLeadWithQuote(accountId)]
  const before = await read({ accountId, reference })
  const otherBefore = await read({ accountId, reference: other.reference })
  // As another copy of the service would, or a person with psql.
  await service.db.query({ text: `UPDATE ${table} SET ${change}`, values: [reference] })
  const after = await read({ accountId, reference, knownVersion: before.version })
  expect(String(after.result!.value)).toContain('Changed')
  expect(await read({ accountId, reference, knownVersion: after.version })).toMatchObject({
    result: UNCHANGED,
  })
  const asked = { accountId, reference: other.reference, knownVersion: otherBefore.version }
  expect(await read(asked)).toMatchObject({ result: UNCHANGED })
})

test('the version is another when what belongs to a lead is removed', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await newLeadWithQuote(accountId)
  const before = await read({ accountId, reference })
  await service.db.query({ text: 'DELETE FROM quote_items WHERE account_id = $1', values: [accountId] })
  const after = await read({ accountId, reference, knownVersion: before.version })
  expect(String(after.result!.value)).toContain('"items":[]')
})

test('a version that another release gave out is not known', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await newLeadWithQuote(accountId)
  const { version } = await read({ accountId, reference })
  const ofAnother = `~${version!.slice(1)}`
  expect(await read({ accountId, reference, knownVersion: ofAnother })).toMatchObject({
    version,
    result: { $case: 'body' },
  })
})
