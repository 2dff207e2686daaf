import { FindLeadsRequest } from '@leadwire/contracts'
import { eventually, gate } from '@leadwire/test-kit'
import {
  lockWaiters,
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
  WINDOW_MS,
} from '../../leads-service.fixture'
import { startSearch } from './start-search'
import { lockProgress, writeTerms } from './write-terms'

let service: RunningLeadsService
let search: ReturnType<typeof startSearch>

beforeAll(async () => {
  service = await startLeadsService()
  search = startSearch({
    database: service.db,
    logger: service.logger,
    duplicateWindowMs: WINDOW_MS,
    onCommitted: () => undefined,
  })
})
afterAll(async () => {
  await search.stop()
  await service.stop()
})

const find = async (
  accountId: number,
  q: string,
  over: Parameters<typeof FindLeadsRequest.fromPartial>[0] = {},
) => {
  const place = { $case: 'page', value: 1 } as const
  const filters = { ...over.filters, q }
  const { items } = await service.leads.findLeads(
    FindLeadsRequest.fromPartial({ accountId, sort: '-created_at', perPage: 20, place, ...over, filters }),
  )
  return (JSON.parse(items.toString()) as { name: string }[]).map(({ name }) => name)
}

const create = async (accountId: number, ...leads: Parameters<typeof newLead>[0][]) => {
  const items = leads.map((lead) => newItem(accountId, { lead: newLead(lead) }))
  const created = readOutcomes(await service.leads.createLeads({ leads: items }))
  search.enqueue([{ accountId }])
  return created as { id: number; name: string; reference: string }[]
}

const ANN = {
  name: 'Porch',
  firstName: 'Ann-Marie',
  lastName: 'O’Neil',
  companyName: 'Clear Ltd',
  email: 'Ann.ONeil@Example.test',
  phone: '020 7946 0123',
  mobile: '+44 7700 900456',
  postcode: 'W1A 1AB',
}

test.each([
  ['ann'],
  ['ANN-MARIE'],
  ['marie'],
  ["o'neil"],
  ['neil ann'],
  ['porch'],
  ['clear'],
  ['ann.oneil@ex'],
  ['020 7946'],
  ['(020) 7946-0123'],
  ['+44 20 7946 0123'],
  ['07700900456'],
  ['447700'],
  ['w1a 1ab'],
  ['W1A1AB'],
  ['1ab'],
])('found by %j', async (q) => {
  const { accountId } = await newAccount(service)
  const other = (await newAccount(service)).accountId
  await create(other, ANN)
  await create(accountId, ANN, {
    name: 'other',
    firstName: 'Bob',
    email: 'bob@other.test',
    postcode: 'M1 1AA',
  })
  await eventually(async () => expect(await find(accountId, q)).toEqual(['Porch']))
})

const PEOPLE = {
  name: 'Flat 2 14 High Street',
  firstName: 'Łukasz',
  lastName: 'O’Brien-Smith',
  companyName: 'Bjørn & Søn (A.B.C.)',
  email: 'luk.obrien-smith@bücher.example',
  phone: '07700 900555 / 020 7946 0958 ext 12',
  mobile: '٠٧٧٠٠ ٩٠٠٤٦١',
  postcode: 'SW11 1AA',
}
const OTHERS = {
  name: 'Plot 7 (3 windows)',
  firstName: 'Æsa',
  lastName: 'Weiß Đình',
  companyName: 'Isik Işık Œuvre',
  email: 'aesa@xn--bcher-kva.example',
  phone: '+44 1632 960123',
  postcode: 'M1 1AA',
}

const ABROAD = {
  name: 'Quay House',
  firstName: 'Niamh',
  lastName: 'Byrne',
  email: 'niamh@byrne.example',
  phone: '+353 87 123 4567',
  mobile: '+1 212 555 0188',
}

describe('three leads', () => {
  let accountId: number
  beforeAll(async () => {
    accountId = (await newAccount(service)).accountId
    await create(accountId, PEOPLE, OTHERS, ABROAD)
    await eventually(async () => expect(await find(accountId, 'flat')).toEqual([PEOPLE.name]))
  })

  test.each<[q: string, ...names: string[]]>([
    // Adjacent numbers.
    ['14 High', PEOPLE.name],
    ['flat 2 14', PEOPLE.name],
    ['2 14 high', PEOPLE.name],
    ['3 windows', OTHERS.name],
    ['plot 7 3 windows', OTHERS.name],
    ['7 windows', OTHERS.name],
    ['SW11 02079460958', PEOPLE.name],
    ['14 high 020 7946 0958', PEOPLE.name],
    ['02079460958 07700900555', PEOPLE.name],
    ['21 high'],
    // Spellings of a telephone number.
    ['+44 (0)20 7946 0958', PEOPLE.name],
    ['0044 20 7946 0958', PEOPLE.name],
    ['020-7946-0958', PEOPLE.name],
    ['020/7946/0958', PEOPLE.name],
    ['tel:+442079460958', PEOPLE.name],
    ['020 7946 0958 x12', PEOPLE.name],
    ['2079460958', PEOPLE.name],
    ['020 7946', PEOPLE.name],
    ['+44 7700 9004', PEOPLE.name],
    ['442079460', PEOPLE.name],
    ['07700 900461', PEOPLE.name],
    ['٠٧٧٠٠٩٠٠٤٦١', PEOPLE.name],
    ['01632 960 123', OTHERS.name],
    ['0044 7700 9004', PEOPLE.name],
    ['+44 (0)7700 9004', PEOPLE.name],
    ['7700 90046', PEOPLE.name],
    ['7700 900461', PEOPLE.name],
    ['087 123 4567', ABROAD.name],
    ['353 87 123 45', ABROAD.name],
    ['212 555 0188', ABROAD.name],
    // The end of a telephone number.
    ['0958', PEOPLE.name],
    ['60958', PEOPLE.name],
    ['6-0958', PEOPLE.name],
    ['46 09 58', PEOPLE.name],
    ['946 0958', PEOPLE.name],
    ['7946 0958', PEOPLE.name],
    ['079460958', PEOPLE.name],
    ['900 555', PEOPLE.name],
    ['(900) 461', PEOPLE.name],
    ['٠٤٦١', PEOPLE.name],
    ['700900461', PEOPLE.name],
    ['…0461', PEOPLE.name],
    ['960 123', OTHERS.name],
    ['1234567', ABROAD.name],
    ['550188', ABROAD.name],
    ['smith 0958', PEOPLE.name],
    ['14 0958', PEOPLE.name],
    ['14 960123'],
    ['958'],
    ['7946'],
    ['9004'],
    ['0185'],
    // Letters without a removable accent, and apostrophes.
    ['lukasz', PEOPLE.name],
    ['łukasz', PEOPLE.name],
    ['bjorn son', PEOPLE.name],
    ['aesa weiss dinh', OTHERS.name],
    ['WEIẞ ĐÌNH', OTHERS.name],
    ['isik oeuvre', OTHERS.name],
    ['OBrien', PEOPLE.name],
    ["o'brien", PEOPLE.name],
    ['Oʼbrien', PEOPLE.name],
    ['brien-smith', PEOPLE.name],
    ['brien smith', PEOPLE.name],
    ['obriensmith', PEOPLE.name],
    ['abc', PEOPLE.name],
    // E-mail addresses.
    ['luk.obrien-smith@bücher.example', PEOPLE.name],
    ['luk.obrien-smith@xn--bcher-kva.example', PEOPLE.name],
    ['aesa@bücher', OTHERS.name],
  ])('%j finds %s', async (q, ...names) => {
    expect(await find(accountId, q)).toEqual(names)
  })
})

test('each word has to begin one of the lead, and other filters hold as well', async () => {
  const { accountId } = await newAccount(service)
  await create(accountId, ANN, { ...ANN, name: 'Sold', status: 'sold' })
  await eventually(async () => expect(await find(accountId, 'ann')).toEqual(['Sold', 'Porch']))
  expect(await find(accountId, 'ann sold')).toEqual(['Sold'])
  expect(await find(accountId, 'ann', { filters: { status: 'open' } })).toEqual(['Porch'])
  // A list of changes leaves out leads as long as an earlier transaction is open, such as one of autovacuum.
  await eventually(async () =>
    expect(await find(accountId, 'ann', { sort: 'updated_at' })).toEqual(['Porch', 'Sold']),
  )
  expect(await find(accountId, 'ann bob')).toEqual([])
  expect(await find(accountId, 'nn')).toEqual([])
})

test('what a copy did not come to is found by the look of another', async () => {
  const { accountId } = await newAccount(service)
  const leads = Array.from({ length: 1100 }, (_, index) =>
    newItem(accountId, { lead: newLead({ name: `n${index}` }) }),
  )
  await service.leads.createLeads({ leads })
  await eventually(async () => expect(await find(accountId, 'n1099')).toEqual(['n1099']))
  expect(await find(accountId, 'n0')).toEqual(['n0'])
})

test('the words of an older format are written anew', async () => {
  const { accountId } = await newAccount(service)
  await create(accountId, ANN)
  await eventually(async () => expect(await find(accountId, 'ann')).toEqual(['Porch']))
  await service.db.query({
    text: `UPDATE lead_search SET term = 'old' || term WHERE account_id = $1`,
    values: [accountId],
  })
  await service.db.query({
    text: 'UPDATE lead_search_progress SET format = 0 WHERE account_id = $1',
    values: [accountId],
  })
  await eventually(async () => expect(await find(accountId, 'ann')).toEqual(['Porch']))
  expect(await find(accountId, 'oldann')).toEqual([])
})

const readFirstTerms = (accountId: number) =>
  service.db.query({
    text: 'SELECT term FROM lead_search WHERE account_id = $1 AND number = 1',
    values: [accountId],
  })

test('an erased lead is found by no words, not by those that were just being written either', async () => {
  const { accountId } = await newAccount(service)
  const [lead] = await create(accountId, ANN)
  await eventually(async () => expect(await find(accountId, 'porch')).toEqual(['Porch']))
  const [written, release] = [gate(), gate()]
  const writing = service.db.transaction(async (tx) => {
    await lockProgress(tx, accountId, { skip: false })
    await writeTerms(tx, accountId, { after: 0, last: 1 })
    written.open()
    await release.opened
  })
  await written.opened
  const erasing = service.leads.eraseLead({ accountId, reference: lead!.reference })
  await eventually(async () => expect(await lockWaiters(service)).toBe(1))
  release.open()
  await Promise.all([writing, erasing])
  expect(await readFirstTerms(accountId)).toEqual([])
  await service.db.query({
    text: 'UPDATE lead_search_progress SET format = 0 WHERE account_id = $1',
    values: [accountId],
  })
  await create(accountId, { name: 'Bay' })
  await eventually(async () => expect(await find(accountId, 'bay')).toEqual(['Bay']))
  expect(await readFirstTerms(accountId)).toEqual([])
})

test('however many searches an account has in flight, other calls have room, and another account’s have their turn', async () => {
  const [busy, other] = [(await newAccount(service)).accountId, (await newAccount(service)).accountId]
  const [lead] = await create(busy, { name: 'Porch' })
  await create(other, { name: 'Porch' })
  for (const id of [busy, other])
    await eventually(async () => expect(await find(id, 'porch')).toEqual(['Porch']))
  const [locked, release] = [gate(), gate()]
  const locking = service.db.transaction(async (tx) => {
    await tx.query({ text: 'LOCK TABLE lead_search IN ACCESS EXCLUSIVE MODE' })
    locked.open()
    await release.opened
  })
  await locked.opened
  const done: number[] = []
  const searches = Array.from({ length: 20 }, () => find(busy, 'porch').then(() => done.push(busy)))
  await eventually(async () => expect(await lockWaiters(service)).toBe(2))
  const others = find(other, 'porch').then(() => done.push(other))
  // An account gets at most two of the three long reads, so the third is free for another account.
  await eventually(async () => expect(await lockWaiters(service)).toBe(3))
  const { results } = await service.leads.retrieveLeads({
    leads: [{ accountId: busy, reference: lead!.reference }],
  })
  expect(results[0]!.result!.$case).toBe('body')
  expect(done).toEqual([])
  release.open()
  await Promise.all([locking, others, ...searches])
  expect(done.indexOf(other)).toBeLessThan(10)
})
