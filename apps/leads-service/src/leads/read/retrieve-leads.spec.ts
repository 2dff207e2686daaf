import { randomUUID } from 'node:crypto'
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

test('names are those of now, of the account alone, and not of erased leads', async () => {
  const [{ accountId }, stranger] = [await newAccount(service), await newAccount(service)]
  const [lead, erased, other] = [
    await newLeadOf(accountId),
    await newLeadOf(accountId),
    await newLeadOf(stranger.accountId),
  ]
  const { reference } = lead
  await service.leads.eraseLead({ accountId, reference: erased.reference })
  const references = [reference, erased.reference, other.reference, randomUUID()]
  expect(await service.leads.findLeadNames({ accountId, references })).toEqual({
    leads: [{ reference, name: lead.name }],
  })
  for (const wrong of [Array.from({ length: 101 }, randomUUID), ['ab12']])
    await expect(service.leads.findLeadNames({ accountId, references: wrong })).rejects.toMatchObject({
      code: 'invalid',
    })
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
