import type { Event, NewLead } from '@leadwire/contracts'
import {
  newAccount,
  newLead,
  type RunningLeadsService,
  readOutbox,
  startLeadsService,
} from '../../leads-service.fixture'

let service: RunningLeadsService
beforeAll(async () => {
  service = await startLeadsService({}, { otherFormat: 9999 })
})
afterAll(() => service.stop())

const scene = async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  return { accountId, userId: user!.id }
}

const create = async (accountId: number, externalId: string, over: Partial<NewLead> = {}) => {
  const lead = newLead({ externalId, ...over })
  const { body } = await service.leads.upsertLead({
    accountId,
    lead,
    idempotency: undefined,
    traceparent: '',
  })
  return JSON.parse(body.toString()).data as { reference: string; customer: object }
}

const retrieve = async (accountId: number, reference: string) => {
  const { body, etag } = await service.leads.retrieveManagedLead({ accountId, reference })
  return { ...JSON.parse(body.toString()).data, etag }
}

/** Updates a lead with a request that gives only the fields in `given`. */
const update = async (
  accountId: number,
  reference: string,
  { given, over = {}, etags }: { given: string[]; over?: Partial<NewLead>; etags?: string[] },
) => {
  const lead = newLead({ ...over, upsert: { given, ifMatch: etags && { etags } } })
  const { body, etag } = await service.leads.updateManagedLead({
    accountId,
    reference,
    lead,
    traceparent: '',
  })
  return { ...JSON.parse(body.toString()).data, etag }
}

const readEvents = async (accountId: number) =>
  (await readOutbox(service)).filter((event) => event.accountId === accountId)

const readData = ({ body }: Event) => JSON.parse(Buffer.from(body).toString()).data

const readHistory = async (accountId: number, reference: string) => {
  const { items } = await service.leads.listLeadHistory({ accountId, reference })
  return JSON.parse(items.toString()) as { version: number; changes: { field: string }[] }[]
}

test('the response shows the assigned user, and its tag changes with the name of the user', async () => {
  const { accountId, userId } = await scene()
  const { reference } = await create(accountId, 'a')
  expect(await retrieve(accountId, reference)).toMatchObject({ user: null })
  const assigned = await update(accountId, reference, { given: ['user_id'], over: { userId } })
  expect(assigned.user).toEqual({ id: userId, name: 'Sam', email: 'sam@example.test' })
  await service.accounts.updateUser({ accountId, userId, name: 'Sam "Bay"' })
  const renamed = await retrieve(accountId, reference)
  expect(renamed.user).toMatchObject({ name: 'Sam "Bay"' })
  expect(renamed.etag).not.toBe(assigned.etag)
  const other = await service.otherLeads.retrieveManagedLead({ accountId, reference })
  expect({ ...JSON.parse(other.body.toString()).data, etag: renamed.etag }).toEqual(renamed)
  await service.accounts.removeUser({ accountId, userId })
  const removed = await retrieve(accountId, reference)
  expect(removed.user).toEqual({ id: userId, name: 'Sam "Bay"', email: null })
  // The lead itself has not changed, so a change with the earlier tag succeeds.
  await update(accountId, reference, { given: ['value'], over: { value: 5 }, etags: [assigned.etag] })
})

test('the fields of the customer change, and history and event name them without values', async () => {
  const { accountId } = await scene()
  const { reference, customer } = await create(accountId, 'a', { mobile: '07700 900123' })
  const changed = await update(accountId, reference, {
    given: ['last_name', 'email', 'mobile', 'value'],
    over: { lastName: 'King', email: 'king@example.test', value: 7 },
  })
  const changedCustomer = { last_name: 'King', name: 'Ada King', email: 'king@example.test' }
  expect(changed).toMatchObject({
    value: 7,
    external_id: 'a',
    customer: { ...customer, ...changedCustomer, mobile: null, mobile_link: null },
  })
  expect(changed).toEqual(await retrieve(accountId, reference))
  const changes = ['value', 'last_name', 'email', 'mobile'].map((field) => ({
    field,
    from: field === 'value' ? 0 : null,
    to: field === 'value' ? 7 : null,
  }))
  const [entry] = await readHistory(accountId, reference)
  expect(entry).toMatchObject({ version: 2, changes: expect.arrayContaining(changes) })
  const event = (await readEvents(accountId)).at(-1)!
  expect(event).toMatchObject({ type: 'lead.updated', leadVersion: 2 })
  expect(readData(event)).toMatchObject({ value: 7, customer: changed.customer, changes: entry!.changes })
  await update(accountId, reference, { given: ['value'], over: { value: 8 } })
  expect(readData((await readEvents(accountId)).at(-1)!)).not.toHaveProperty('customer')
})

test('null unassigns the lead, and a request that changes nothing writes nothing', async () => {
  const { accountId, userId } = await scene()
  const { reference } = await create(accountId, 'a', { userId })
  const unassigned = await update(accountId, reference, { given: ['user_id'] })
  expect((await readHistory(accountId, reference))[0]!.changes).toEqual([
    { field: 'user', from: { id: userId, email: 'sam@example.test' }, to: null },
  ])
  expect(await update(accountId, reference, { given: ['user_id', 'email'] })).toEqual(unassigned)
  expect(await update(accountId, reference, { given: [] })).toEqual(unassigned)
  expect(await readEvents(accountId)).toHaveLength(2)
})

test('an external id is changed and cleared, but never taken from another lead', async () => {
  const { accountId } = await scene()
  const [first, second] = [await create(accountId, 'a'), await create(accountId, 'b')]
  const give = (reference: string, externalId: string | undefined) =>
    update(accountId, reference, { given: ['external_id'], over: { externalId } })
  await expect(give(first.reference, 'b')).rejects.toMatchObject({
    fieldErrors: { external_id: ['The external id has already been taken.'] },
  })
  expect(await give(second.reference, undefined)).toMatchObject({ external_id: null })
  expect(await give(first.reference, 'b')).toMatchObject({ external_id: 'b' })
  expect((await readHistory(accountId, first.reference))[0]!.changes).toEqual([
    { field: 'external_id', from: null, to: null },
  ])
  const again = await create(accountId, 'a')
  expect([first.reference, second.reference]).not.toContain(again.reference)
})

test('leads that want each other’s external id are refused, and never wait in a circle', async () => {
  const { accountId } = await scene()
  const leads = [await create(accountId, 'a'), await create(accountId, 'b')]
  for (let round = 0; round < 5; round++) {
    const asked = leads.map(({ reference }, index) =>
      update(accountId, reference, { given: ['external_id'], over: { externalId: index === 0 ? 'b' : 'a' } }),
    )
    for (const { status } of await Promise.allSettled(asked)) expect(status).toBe('rejected')
  }
})

test('If-Match, erased leads and leads of other accounts are refused', async () => {
  const { accountId } = await scene()
  const other = await scene()
  const { reference } = await create(accountId, 'a')
  const { etag } = await retrieve(accountId, reference)
  const change = { given: ['value'], over: { value: 1 } }
  await update(accountId, reference, { ...change, etags: [etag] })
  const stale = { given: ['value'], over: { value: 2 }, etags: [etag] }
  await expect(update(accountId, reference, stale)).rejects.toMatchObject({ code: 'precondition_failed' })
  const unknownUser = { given: ['user_id'], over: { userId: other.userId + 1000 }, etags: [etag] }
  await expect(update(accountId, reference, unknownUser)).rejects.toMatchObject({
    fieldErrors: { user_id: ['The selected user id is invalid.'] },
  })
  await expect(update(other.accountId, reference, change)).rejects.toMatchObject({ code: 'not_found' })
  await service.leads.eraseLead({ accountId, reference })
  await expect(update(accountId, reference, change)).rejects.toMatchObject({ code: 'lead_erased' })
})

describe('a change in bulk', () => {
  const updateInBulk = async (
    accountId: number,
    references: string[],
    { given, over = {} }: { given: string[]; over?: Partial<NewLead> },
  ) => {
    const lead = newLead({ ...over, upsert: { given, ifMatch: undefined } })
    const { body } = await service.leads.updateLeadsInBulk({ accountId, references, lead, traceparent: '' })
    return JSON.parse(body.toString()).data as object[]
  }

  test('sets the fields of each lead, and tells the result of each in order', async () => {
    const { accountId, userId } = await scene()
    const other = await scene()
    const foreign = await create(other.accountId, 'a')
    const first = await create(accountId, 'a', { attributes: '{"campaign":"may","visits":1}' })
    const second = await create(accountId, 'b', { status: 'lost', userId })
    const erased = await create(accountId, 'c')
    await service.leads.eraseLead({ accountId, reference: erased.reference })
    const change = {
      given: ['status', 'user_id', 'attributes'],
      over: { status: 'lost', userId, attributes: '{"campaign":null,"list":"june"}' },
    }
    const references = [first, erased, foreign, second].map(({ reference }) => reference)
    expect(await updateInBulk(accountId, references, change)).toEqual([
      { reference: first.reference, updated: true },
      { reference: erased.reference, errors: { reference: [expect.stringContaining('erased')] } },
      { reference: foreign.reference, errors: { reference: ['There is no lead with this reference.'] } },
      { reference: second.reference, updated: true },
    ])
    expect(await retrieve(accountId, first.reference)).toMatchObject({
      status: 'lost',
      attributes: { visits: 1, list: 'june' },
    })
    const names = async (reference: string) =>
      (await readHistory(accountId, reference))[0]!.changes.map(({ field }) => field).toSorted()
    expect(await names(first.reference)).toEqual(['attributes', 'status', 'user'])
    expect(await names(second.reference)).toEqual(['attributes'])
    const updates = (await readEvents(accountId)).filter(({ type }) => type === 'lead.updated')
    expect(updates.map(({ leadReference }) => leadReference)).toEqual([first.reference, second.reference])
    expect(await updateInBulk(accountId, [first.reference], change)).toEqual([
      { reference: first.reference, updated: false },
    ])
  })

  test('refuses an unknown user for all leads, and too many attributes for the leads that have them', async () => {
    const { accountId, userId } = await scene()
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`k${index}`, index]))
    const full = await create(accountId, 'a', { attributes: JSON.stringify(many) })
    const empty = await create(accountId, 'b')
    const references = [full.reference, empty.reference]
    const unknown = { given: ['user_id'], over: { userId: userId + 1000 } }
    await expect(updateInBulk(accountId, references, unknown)).rejects.toMatchObject({
      fieldErrors: { 'set.user_id': ['The selected user id is invalid.'] },
    })
    const added = { given: ['attributes'], over: { attributes: '{"list":"june"}' } }
    expect(await updateInBulk(accountId, references, added)).toEqual([
      { reference: full.reference, errors: { 'set.attributes': [expect.stringContaining('30 attributes')] } },
      { reference: empty.reference, updated: true },
    ])
  })
})
