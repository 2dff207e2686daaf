import { randomUUID } from 'node:crypto'
import { eventually, gate } from '@leadwire/test-kit'
import {
  lockWaiters,
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

const createLead = async (accountId: number) =>
  readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))[0]

test('each lead of a batch is its account’s, and harms no neighbour when it is not there', async () => {
  const [{ accountId }, stranger] = [await newAccount(service), await newAccount(service)]
  const [lead, other] = [await createLead(accountId), await createLead(accountId)]
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
  expect(readOutcomes(read)).toEqual([lead, notFound, other, notFound, lead])
})

test('names are those of now, of the account alone, and not of erased leads', async () => {
  const [{ accountId }, stranger] = [await newAccount(service), await newAccount(service)]
  const [lead, erased, other] = [
    await createLead(accountId),
    await createLead(accountId),
    await createLead(stranger.accountId),
  ]
  const { reference } = lead
  await service.leads.eraseLead({ accountId, reference: erased.reference })
  const references = [reference, erased.reference, other.reference, randomUUID()]
  expect(await service.leads.findLeadNames({ accountId, references })).toEqual({
    leads: [{ reference, name: lead.name }],
  })
})

test('an item that is late when it is looked at is told so, and its neighbours are read', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await createLead(accountId)
  const read = await service.leads.retrieveLeads({
    leads: [
      { accountId, reference, timeoutMs: -1 },
      { accountId, reference },
    ],
  })
  expect(readOutcomes(read)).toEqual([
    { failure: expect.objectContaining({ code: 'unavailable' }) },
    expect.objectContaining({ reference }),
  ])
})

test('batches that hang leave connections for other calls', async () => {
  const { accountId } = await newAccount(service)
  const { reference } = await createLead(accountId)
  const [held, ended] = [gate(), gate()]
  const holding = service.db.transaction(async (tx) => {
    await tx.query({ text: 'LOCK TABLE leads IN ACCESS EXCLUSIVE MODE' })
    held.open()
    await ended.opened
  })
  await held.opened
  // Sends as many batches as the pool has connections.
  const batches = Array.from({ length: 6 }, () =>
    service.leads.retrieveLeads({ leads: [{ accountId, reference }] }),
  )
  await eventually(async () => expect(await lockWaiters(service)).toBe(2))
  expect((await service.accounts.retrieveAccount({ accountId })).account!.id).toBe(accountId)
  expect(await lockWaiters(service)).toBe(2)
  ended.open()
  await holding
  for (const batch of await Promise.all(batches)) expect(readOutcomes(batch)[0].reference).toBe(reference)
})
