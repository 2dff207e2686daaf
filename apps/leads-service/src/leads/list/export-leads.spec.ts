import { LeadFilters } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
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
  service = await startLeadsService({}, { otherFormat: 1 })
})
afterAll(() => service.stop())

const createLeads = async (accountId: number, names: string[], over: object = {}) => {
  const leads = names.map((name) => newItem(accountId, { lead: newLead({ ...over, name }) }))
  return readOutcomes(await service.leads.createLeads({ leads }))
}

const readBatches = async (accountId: number, filters: Partial<LeadFilters> = {}, { leads } = service) => {
  const batches: { name: string; created_at: string }[][] = []
  for (let after: number | undefined; ; ) {
    const batch = await leads.exportLeads({ accountId, after, filters: LeadFilters.fromPartial(filters) })
    if (batch.nextAfter === undefined) return batches
    after = batch.nextAfter
    batches.push(batch.leads.map((lead) => JSON.parse(lead.toString())))
  }
}

const listNames = (batches: { name: string }[][]) => batches.flat().map(({ name }) => name)

test('the leads of an account, oldest first and whole, also those that a copy of another release made', async () => {
  const { accountId } = await newAccount(service)
  const { accountId: another } = await newAccount(service)
  const shown = await createLeads(accountId, ['one', 'two', 'three'])
  const created = shown.map((lead) => ({ ...lead, external_id: null, attributes: {}, duplicate_of: null }))
  await createLeads(another, ['not mine'])
  expect((await readBatches(accountId)).flat()).toEqual(created)
  expect((await readBatches(accountId, {}, { ...service, leads: service.otherLeads })).flat()).toEqual(
    created,
  )
  const { accountId: empty } = await newAccount(service)
  expect(await readBatches(empty)).toEqual([])
})

test('an export is in the audit log once, with who made it', async () => {
  const { accountId, tokenId } = await newAccount(service)
  const [lead] = await createLeads(accountId, ['one', 'two'])
  const by = { actor: { tokenId, tokenName: 'first', requestId: 'request-1' } }
  const filters = LeadFilters.create()
  const { nextAfter: after } = await service.leads.exportLeads({ accountId, filters }, by)
  await service.leads.exportLeads({ accountId, after, filters }, by)
  const key = { accountId, reference: lead!['reference'] as string }
  await service.leads.retrieveManagedLead({ ...key, isExport: true }, by)
  await service.leads.retrieveManagedLead(key, by)
  const { entries } = await service.audit.listAudit({ accountId })
  const exports = entries.filter(({ action }) => action.endsWith('.exported'))
  expect(exports).toEqual([
    expect.objectContaining({
      action: 'lead.exported',
      targetId: lead!['id'],
      tokenId,
      requestId: 'request-1',
    }),
    expect.objectContaining({ action: 'account.exported', targetId: accountId, tokenId, changes: '{}' }),
  ])
})

test('a time takes in its beginning and not its end, wherever they lie', async () => {
  const { accountId } = await newAccount(service)
  const names = Array.from({ length: 9 }, (_, index) => `lead ${index}`)
  const times = (await createLeads(accountId, names)).map(({ created_at }) => created_at as string)
  for (let from = 0; from < names.length; from += 1) {
    const batches = await readBatches(accountId, { createdFrom: times[from], createdTo: times[7] })
    expect(listNames(batches)).toEqual(names.slice(from, 7))
  }
  expect(listNames(await readBatches(accountId, { createdFrom: '1999-01-01T00:00:00Z' }))).toEqual(names)
  expect(await readBatches(accountId, { createdFrom: '2999-01-01T00:00:00Z' })).toEqual([])
  expect(await readBatches(accountId, { createdTo: '1999-01-01T00:00:00Z' })).toEqual([])
})

describe('with the filters of the list', () => {
  let accountId: number
  let userId: number
  let since: string

  beforeAll(async () => {
    accountId = (await newAccount(service)).accountId
    const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
    userId = user!.id
    await createLeads(accountId, ['sold 1'], { status: 'sold', lastName: 'Lovelace' })
    await createLeads(accountId, ['phone'], { referrer: 'Phone', postcode: 'SW1A 2AA' })
    await createLeads(accountId, ['test'], { test: true })
    await createLeads(accountId, ['assigned'], { userId })
    const [last] = await createLeads(accountId, ['sold 2'], { status: 'sold', postcode: 'M1 1AE' })
    since = last!.updated_at as string
    await createLeads((await newAccount(service)).accountId, ['of another'], { status: 'sold' })
  })

  test.each<[Partial<LeadFilters>, string[]]>([
    [{ status: 'sold' }, ['sold 1', 'sold 2']],
    [{ status: 'lost' }, []],
    [{ referrer: 'Phone' }, ['phone']],
    [{ postcode: 'SW1A 2' }, ['phone']],
    [{ test: true }, ['test']],
    [{ test: false }, ['sold 1', 'phone', 'assigned', 'sold 2']],
    [{ status: 'sold', postcode: 'M1' }, ['sold 2']],
    [{ status: 'sold', referrer: 'Phone' }, []],
  ])('%j', async (filters, names) => {
    expect(listNames(await readBatches(accountId, filters))).toEqual(names)
  })

  test('the user, and changes since an instant', async () => {
    expect(listNames(await readBatches(accountId, { assignedTo: userId }))).toEqual(['assigned'])
    await eventually(async () =>
      expect(listNames(await readBatches(accountId, { updatedSince: since }))).toEqual(['sold 2']),
    )
  })

  test('no lead is left out where thousands that do not match lie between', async () => {
    const { accountId } = await newAccount(service)
    const others = Array.from({ length: 500 }, (_, index) => `open ${index}`)
    await createLeads(accountId, ['first'], { status: 'sold', referrer: 'Phone' })
    for (let round = 0; round < 21; round += 1) await createLeads(accountId, others, { status: 'sold' })
    await createLeads(accountId, ['last'], { status: 'sold', referrer: 'Phone' })
    // Adds leads with the referrer `Phone`, so that neither the index by status nor the index by referrer has
    // only the two matches.
    await createLeads(accountId, others, { referrer: 'Phone' })
    expect(listNames(await readBatches(accountId, { status: 'sold', referrer: 'Phone' }))).toEqual([
      'first',
      'last',
    ])
  })
})

test('a batch is bounded by its leads and by their size', async () => {
  const { accountId } = await newAccount(service)
  const names = Array.from({ length: 450 }, (_, index) => `lead ${index}`)
  await createLeads(accountId, names.slice(0, 250))
  await createLeads(accountId, names.slice(250), { description: '€'.repeat(10_000) })
  const batches = await readBatches(accountId)
  expect(listNames(batches)).toHaveLength(450)
  expect(new Set(listNames(batches))).toEqual(new Set(names))
  for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(200)
  const sizes = batches.map((batch) => Buffer.byteLength(JSON.stringify(batch)))
  expect(Math.max(...sizes)).toBeLessThan(4_100_000)
})

test('an unreadable time and a search without words are refused', async () => {
  const { accountId } = await newAccount(service)
  await expect(readBatches(accountId, { createdFrom: 'soon' })).rejects.toMatchObject({ code: 'bad_request' })
  await expect(readBatches(accountId, { q: '.' })).rejects.toMatchObject({ code: 'invalid' })
})
