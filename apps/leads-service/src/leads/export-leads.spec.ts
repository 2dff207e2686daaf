import {
  newAccount,
  newItem,
  newLead,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService({}, { otherFormat: 1 })
})
afterAll(() => service.stop())

const createLeads = async (accountId: number, names: string[], over: object = {}) => {
  const leads = names.map((name) => newItem(accountId, { lead: newLead({ ...over, name }) }))
  return outcomesOf(await service.leads.createLeads({ leads }))
}

const portionsOf = async (accountId: number, times: object = {}, { leads } = service) => {
  const portions: { name: string; created_at: string }[][] = []
  for (let after: number | undefined; ; ) {
    const portion = await leads.exportLeads({ accountId, after, ...times })
    if (portion.nextAfter === undefined) return portions
    after = portion.nextAfter
    portions.push(portion.leads.map((lead) => JSON.parse(lead.toString())))
  }
}

const namesOf = (portions: { name: string }[][]) => portions.flat().map(({ name }) => name)

test('the leads of an account, oldest first and whole, also those that a copy of another release made', async () => {
  const { accountId } = await newAccount(service)
  const { accountId: another } = await newAccount(service)
  const created = await createLeads(accountId, ['one', 'two', 'three'])
  await createLeads(another, ['not mine'])
  expect((await portionsOf(accountId)).flat()).toEqual(created)
  expect((await portionsOf(accountId, {}, { ...service, leads: service.otherLeads })).flat()).toEqual(created)
  const { accountId: empty } = await newAccount(service)
  expect(await portionsOf(empty)).toEqual([])
})

test('a time takes in its beginning and not its end, wherever they lie', async () => {
  const { accountId } = await newAccount(service)
  const names = Array.from({ length: 9 }, (_, index) => `lead ${index}`)
  const times = (await createLeads(accountId, names)).map(({ created_at }) => created_at as string)
  for (let from = 0; from < names.length; from += 1) {
    const portions = await portionsOf(accountId, { createdFrom: times[from], createdTo: times[7] })
    expect(namesOf(portions)).toEqual(names.slice(from, 7))
  }
  expect(namesOf(await portionsOf(accountId, { createdFrom: '1999-01-01T00:00:00Z' }))).toEqual(names)
  expect(await portionsOf(accountId, { createdFrom: '2999-01-01T00:00:00Z' })).toEqual([])
  expect(await portionsOf(accountId, { createdTo: '1999-01-01T00:00:00Z' })).toEqual([])
})

test('a portion is bounded by its leads and by their size', async () => {
  const { accountId } = await newAccount(service)
  const names = Array.from({ length: 450 }, (_, index) => `lead ${index}`)
  await createLeads(accountId, names.slice(0, 250))
  await createLeads(accountId, names.slice(250), { description: '€'.repeat(10_000) })
  const portions = await portionsOf(accountId)
  expect(namesOf(portions)).toHaveLength(450)
  expect(new Set(namesOf(portions))).toEqual(new Set(names))
  for (const portion of portions) expect(portion.length).toBeLessThanOrEqual(200)
  const sizes = portions.map((portion) => Buffer.byteLength(JSON.stringify(portion)))
  expect(Math.max(...sizes)).toBeLessThan(4_100_000)
})

test('what no time is, or no account, is refused', async () => {
  const { accountId } = await newAccount(service)
  await expect(service.leads.exportLeads({ accountId, createdFrom: 'soon' })).rejects.toMatchObject({
    code: 'invalid',
  })
  await expect(service.leads.exportLeads({ accountId: 0 })).rejects.toMatchObject({ code: 'invalid' })
})
