import { LeadFilters } from '@leadwire/contracts'
import { eventually } from '@leadwire/test-kit'
import {
  newAccount,
  newItem,
  newLead,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService({}, { otherFormat: 1 })
})
afterAll(() => service.stop())

const createLeads = async (accountId: number, names: string[], over: object = {}) => {
  const leads = names.map((name) => newItem(accountId, { lead: newLead({ ...over, name }) }))
  return outcomesOf(await service.leads.createLeads({ leads }))
}

const batchesOf = async (accountId: number, filters: Partial<LeadFilters> = {}, { leads } = service) => {
  const batches: { name: string; created_at: string }[][] = []
  for (let after: number | undefined; ; ) {
    const batch = await leads.exportLeads({ accountId, after, filters: LeadFilters.fromPartial(filters) })
    if (batch.nextAfter === undefined) return batches
    after = batch.nextAfter
    batches.push(batch.leads.map((lead) => JSON.parse(lead.toString())))
  }
}

const namesOf = (batches: { name: string }[][]) => batches.flat().map(({ name }) => name)

test('the leads of an account, oldest first and whole, also those that a copy of another release made', async () => {
  const { accountId } = await newAccount(service)
  const { accountId: another } = await newAccount(service)
  const shown = await createLeads(accountId, ['one', 'two', 'three'])
  const created = shown.map((lead) => ({ ...lead, external_id: null, attributes: {}, duplicate_of: null }))
  await createLeads(another, ['not mine'])
  expect((await batchesOf(accountId)).flat()).toEqual(created)
  expect((await batchesOf(accountId, {}, { ...service, leads: service.otherLeads })).flat()).toEqual(created)
  const { accountId: empty } = await newAccount(service)
  expect(await batchesOf(empty)).toEqual([])
})

test('a time takes in its beginning and not its end, wherever they lie', async () => {
  const { accountId } = await newAccount(service)
  const names = Array.from({ length: 9 }, (_, index) => `lead ${index}`)
  const times = (await createLeads(accountId, names)).map(({ created_at }) => created_at as string)
  for (let from = 0; from < names.length; from += 1) {
    const batches = await batchesOf(accountId, { createdFrom: times[from], createdTo: times[7] })
    expect(namesOf(batches)).toEqual(names.slice(from, 7))
  }
  expect(namesOf(await batchesOf(accountId, { createdFrom: '1999-01-01T00:00:00Z' }))).toEqual(names)
  expect(await batchesOf(accountId, { createdFrom: '2999-01-01T00:00:00Z' })).toEqual([])
  expect(await batchesOf(accountId, { createdTo: '1999-01-01T00:00:00Z' })).toEqual([])
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
    expect(namesOf(await batchesOf(accountId, filters))).toEqual(names)
  })

  test('the user, and changes since an instant', async () => {
    expect(namesOf(await batchesOf(accountId, { assignedTo: userId }))).toEqual(['assigned'])
    await eventually(async () =>
      expect(namesOf(await batchesOf(accountId, { updatedSince: since }))).toEqual(['sold 2']),
    )
  })

  test('no lead is left out where thousands that do not match lie between', async () => {
    const { accountId } = await newAccount(service)
    const others = Array.from({ length: 500 }, (_, index) => `open ${index}`)
    await createLeads(accountId, ['first'], { status: 'sold', referrer: 'Phone' })
    for (let round = 0; round < 21; round += 1) await createLeads(accountId, others, { status: 'sold' })
    await createLeads(accountId, ['last'], { status: 'sold', referrer: 'Phone' })
    // Neither index leads to the two alone.
    await createLeads(accountId, others, { referrer: 'Phone' })
    expect(namesOf(await batchesOf(accountId, { status: 'sold', referrer: 'Phone' }))).toEqual([
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
  const batches = await batchesOf(accountId)
  expect(namesOf(batches)).toHaveLength(450)
  expect(new Set(namesOf(batches))).toEqual(new Set(names))
  for (const batch of batches) expect(batch.length).toBeLessThanOrEqual(200)
  const sizes = batches.map((batch) => Buffer.byteLength(JSON.stringify(batch)))
  expect(Math.max(...sizes)).toBeLessThan(4_100_000)
})

test('what no time is, or no account, is refused', async () => {
  const { accountId } = await newAccount(service)
  await expect(batchesOf(accountId, { createdFrom: 'soon' })).rejects.toMatchObject({ code: 'invalid' })
  await expect(batchesOf(accountId, { q: '.' })).rejects.toMatchObject({ code: 'invalid' })
  await expect(batchesOf(0)).rejects.toMatchObject({ code: 'invalid' })
})
