import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const newLeadOf = async (accountId: number) =>
  outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))[0]

test('each lead of a batch is its account’s, and harms no neighbour when it is not there', async () => {
  const [{ accountId }, stranger] = [await newAccount(service), await newAccount(service)]
  const [lead, other] = [await newLeadOf(accountId), await newLeadOf(accountId)]
  const read = await service.leads.retrieveLeads({
    leads: [
      { accountId, reference: lead.reference },
      { accountId: stranger.accountId, reference: lead.reference },
      { accountId, reference: other.reference },
      { accountId, reference: 'no-reference' },
      { accountId, reference: lead.reference.toUpperCase() },
    ],
  })
  const notFound = { failure: expect.objectContaining({ code: 'not_found' }) }
  expect(outcomesOf(read)).toEqual([lead, notFound, other, notFound, lead])
})

test('an item that is late when it is looked at is told so, and its neighbours are read', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await newLeadOf(accountId)
  const read = await service.leads.retrieveLeads({
    leads: [
      { accountId, reference, timeoutMs: -1 },
      { accountId, reference },
    ],
  })
  expect(outcomesOf(read)).toEqual([
    { failure: expect.objectContaining({ code: 'unavailable' }) },
    expect.objectContaining({ reference }),
  ])
})
