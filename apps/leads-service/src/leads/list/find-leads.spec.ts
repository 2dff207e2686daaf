import { FindLeadsRequest, type LeadFilters } from '@leadwire/contracts'
import { eventually, gate } from '@leadwire/test-kit'
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
  service = await startLeadsService()
})
afterAll(() => service.stop())

interface Item {
  name: string
  reference: string
  status: string
  created_at: string
  updated_at: string
  /** Only in the list for people. */
  next?: { date: string } | null
}

const find = async (accountId: number, over: Parameters<typeof FindLeadsRequest.fromPartial>[0] = {}) => {
  const place = { $case: 'page', value: 1 } as const
  const request = FindLeadsRequest.fromPartial({
    accountId,
    sort: '-created_at',
    perPage: 20,
    place,
    ...over,
  })
  const { items, ...rest } = await service.leads.findLeads(request)
  const leads = JSON.parse(items.toString()) as Item[]
  return { ...rest, leads, names: leads.map(({ name }) => name) }
}

/**
 * Waits until a list shows these leads. A list of changes leaves out the newest changes as long as an earlier
 * transaction is open, which may be one of PostgreSQL's autovacuum.
 */
const untilListed = (accountId: number, over: Parameters<typeof find>[1], names: string[]) =>
  eventually(async () => expect((await find(accountId, over)).names).toEqual(names))

const byFilters = async (accountId: number, filters: Partial<LeadFilters>) =>
  (await find(accountId, { filters })).names

const create = async (accountId: number, ...leads: Parameters<typeof newLead>[0][]): Promise<Item[]> =>
  readOutcomes(
    await service.leads.createLeads({
      leads: leads.map((lead) => newItem(accountId, { lead: newLead(lead) })),
    }),
  )

/** Follows the cursors of a list to its end. Resolves with the names of all leads. */
const walk = async (
  accountId: number,
  over: Parameters<typeof FindLeadsRequest.fromPartial>[0],
  between: () => Promise<unknown> = async () => undefined,
) => {
  const names: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined; ) {
    const place = { $case: 'cursor', value: cursor } as const
    const step: Awaited<ReturnType<typeof find>> = await find(accountId, { perPage: 3, ...over, place })
    names.push(...step.names)
    cursor = step.nextCursor
    await between()
  }
  return names
}

const numbered = (count: number, over: Parameters<typeof newLead>[0] = {}) =>
  Array.from({ length: count }, (_, index) => ({ ...over, name: `${index + 1}` }))

describe('each filter alone', () => {
  let accountId: number
  let userId: number
  let leads: Item[]

  beforeAll(async () => {
    accountId = (await newAccount(service)).accountId
    const other = (await newAccount(service)).accountId
    const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
    userId = user!.id
    leads = [
      ...(await create(accountId, { name: 'sold', status: 'sold' })),
      ...(await create(accountId, { name: 'phone', referrer: 'Phone', postcode: 'SW1A 2AA' })),
      ...(await create(accountId, { name: 'far', postcode: 'SW11 1AA' })),
      ...(await create(accountId, { name: 'marked', test: true })),
      ...(await create(accountId, { name: 'tested', status: 'test' })),
      ...(await create(accountId, { name: 'assigned', userId })),
    ]
    await create(other, { status: 'sold', referrer: 'Phone', test: true })
  })

  test.each<[Partial<LeadFilters>, string[]]>([
    [{ status: 'sold' }, ['sold']],
    [{ status: 'lost' }, []],
    [{ referrer: 'Phone' }, ['phone']],
    [{ postcode: 'SW1A 2' }, ['phone']],
    [{ postcode: 'SW1A' }, ['assigned', 'tested', 'marked', 'phone', 'sold']],
    [{ postcode: 'SW11' }, ['far']],
    [{ postcode: '%' }, []],
    [{ test: true }, ['tested', 'marked']],
    [{ test: false }, ['assigned', 'far', 'phone', 'sold']],
    [{ status: 'open', test: true }, ['marked']],
    [{ status: 'open', referrer: 'Website', postcode: 'SW1' }, ['assigned', 'marked', 'far']],
  ])('%j', async (filters, names) => {
    expect(await byFilters(accountId, filters)).toEqual(names)
  })

  test('the user', async () => {
    expect(await byFilters(accountId, { assignedTo: userId })).toEqual(['assigned'])
    expect(await byFilters(accountId, { assignedTo: userId + 1 })).toEqual([])
    const unassigned = ['tested', 'marked', 'far', 'phone', 'sold']
    expect(await byFilters(accountId, { unassigned: true })).toEqual(unassigned)
    expect(await walk(accountId, { filters: { unassigned: true } })).toEqual(unassigned)
    expect(await walk(accountId, { filters: { unassigned: true }, sort: 'created_at' })).toEqual(
      unassigned.toReversed(),
    )
    expect(await byFilters(accountId, { unassigned: true, test: true })).toEqual(['tested', 'marked'])
    expect(await byFilters(accountId, { unassigned: true, referrer: 'Phone' })).toEqual(['phone'])
    expect(await byFilters(accountId, { unassigned: true, assignedTo: userId })).toEqual([])
  })

  test('created_from is inclusive, created_to is not', async () => {
    const [, second, third, fourth] = leads
    const created = { createdFrom: second!.created_at, createdTo: fourth!.created_at }
    expect(await byFilters(accountId, created)).toEqual(['far', 'phone'])
    expect(
      await byFilters(accountId, { createdFrom: third!.created_at, createdTo: third!.created_at }),
    ).toEqual([])
    expect(await byFilters(accountId, { createdFrom: '2999-01-01T00:00:00Z' })).toEqual([])
    expect(await byFilters(accountId, { createdTo: '1999-01-01T00:00:00Z' })).toEqual([])
    expect(await byFilters(accountId, { ...created, referrer: 'Phone' })).toEqual(['phone'])
  })

  test('changes since an instant, the oldest first when asked for so', async () => {
    const [changed] = leads
    await service.leads.updateLead({
      accountId,
      reference: changed!.reference,
      value: 7,
      status: undefined,
      userEmail: undefined,
      notify: false,
      ifMatch: undefined,
    })
    const filters = { updatedSince: leads.at(-1)!.updated_at }
    await untilListed(accountId, { filters }, ['assigned', 'sold'])
    await untilListed(accountId, { filters, sort: 'updated_at' }, ['assigned', 'sold'])
    await untilListed(accountId, { filters, sort: '-updated_at' }, ['sold', 'assigned'])
    await untilListed(accountId, { sort: '-updated_at', perPage: 2 }, ['sold', 'assigned'])
  })
})

test.each(['-created_at', 'created_at'])('pages of any size, sorted by %s, count all leads', async (sort) => {
  const { accountId } = await newAccount(service)
  await create(accountId, ...numbered(7))
  const names = numbered(7).map(({ name }) => name)
  const sorted = sort === 'created_at' ? names : names.toReversed()
  const page = (value: number) => find(accountId, { sort, perPage: 3, place: { $case: 'page', value } })
  expect(await page(1)).toMatchObject({ names: sorted.slice(0, 3), total: 7, totalCapped: false })
  expect(await page(3)).toMatchObject({ names: sorted.slice(6), total: 7, nextCursor: undefined })
  expect(await page(4)).toMatchObject({ names: [], total: 7 })
  expect(await page(Number.MAX_SAFE_INTEGER)).toMatchObject({ names: [], total: 7 })
})

test.each([
  '-created_at',
  'created_at',
  '-updated_at',
  'updated_at',
])('a page with a filter, sorted by %s, has the cursor of the page after it', async (sort) => {
  const { accountId } = await newAccount(service)
  for (const lead of numbered(5)) await create(accountId, lead)
  const names = numbered(5).map(({ name }) => name)
  const sorted = sort.startsWith('-') ? names.toReversed() : names
  const filters = { status: 'open' }
  await untilListed(accountId, { sort, filters }, sorted)
  const [first, second] = [
    await find(accountId, { sort, filters, perPage: 2 }),
    await find(accountId, { sort, filters, perPage: 2, place: { $case: 'page', value: 2 } }),
  ]
  expect(first).toMatchObject({ names: sorted.slice(0, 2), total: 5, totalCapped: false })
  expect(second).toMatchObject({ names: sorted.slice(2, 4), total: 5, totalCapped: false })
  const place = { $case: 'cursor', value: second.nextCursor! } as const
  expect(await find(accountId, { sort, filters, perPage: 2, place })).toMatchObject({
    names: sorted.slice(4),
    nextCursor: undefined,
    total: undefined,
  })
})

describe('a walk while leads are being made', () => {
  test('newest first shows what was there when it began, each lead once', async () => {
    const { accountId } = await newAccount(service)
    await create(accountId, ...numbered(10))
    const names = await walk(accountId, {}, () => create(accountId, { name: 'later' }))
    expect(names).toEqual(
      numbered(10)
        .map(({ name }) => name)
        .toReversed(),
    )
  })

  test('oldest first shows those that come meanwhile, too', async () => {
    const { accountId } = await newAccount(service)
    await create(accountId, ...numbered(4))
    const later = [{ name: 'later' }]
    const names = await walk(accountId, { sort: 'created_at', filters: { status: 'open' } }, async () => {
      const lead = later.shift()
      if (lead) await create(accountId, lead)
    })
    expect(names).toEqual(['1', '2', '3', '4', 'later'])
  })

  test('changes: what was changed once more comes again', async () => {
    const { accountId } = await newAccount(service)
    const leads = []
    for (const lead of numbered(5)) leads.push(...(await create(accountId, lead)))
    const [first] = leads
    await untilListed(accountId, { sort: 'updated_at' }, ['1', '2', '3', '4', '5'])
    let changed = false
    const names = await walk(accountId, { sort: 'updated_at' }, async () => {
      if (changed) return
      changed = true
      await service.leads.updateLead({
        accountId,
        reference: first!.reference,
        value: 7,
        status: undefined,
        userEmail: undefined,
        notify: false,
        ifMatch: undefined,
      })
      await untilListed(accountId, { sort: 'updated_at' }, ['2', '3', '4', '5', '1'])
    })
    expect(names).toEqual(['1', '2', '3', '4', '5', '1'])
  })
})

test('changes are not shown while a transaction that began before them may still commit earlier ones', async () => {
  const { accountId } = await newAccount(service)
  const [early, late] = await create(accountId, { name: 'early' }, { name: 'late' })
  const filters = { updatedSince: late!.updated_at }
  const sort = 'updated_at'
  const update = (reference: string) =>
    service.leads.updateLead({
      accountId,
      reference,
      value: 7,
      status: undefined,
      userEmail: undefined,
      notify: false,
      ifMatch: undefined,
    })
  const [stamped, release] = [gate(), gate()]
  const slow = service.db.transaction(async (tx) => {
    await tx.query({
      text: `UPDATE leads SET updated_at = clock_timestamp() WHERE account_id = $1 AND name = 'early'`,
      values: [accountId],
    })
    stamped.open()
    await release.opened
  })
  await stamped.opened
  await update(late!.reference)
  expect((await find(accountId, { filters, sort })).names).not.toContain('late')
  expect((await find(accountId, { filters, sort: '-created_at' })).names).toEqual([])
  release.open()
  await slow
  // The change of `late` was committed first, but `late` still comes after `early`.
  await untilListed(accountId, { filters, sort }, ['early', 'late'])
  expect(early!.reference).not.toBe(late!.reference)
})

test.each([
  [{ filters: { q: '.' } }, 'q'],
  [{ filters: { q: 'a b c d e f g h i' } }, 'q'],
  [{ place: { $case: 'cursor', value: 'x' } as const }, 'cursor'],
  [{ place: { $case: 'cursor', value: '2026-11-23T00:00:00.000000Z,1' } as const }, 'cursor'],
  [{ sort: 'updated_at', place: { $case: 'cursor', value: '1' } as const }, 'cursor'],
])('what makes no sense is refused: %j', async (over, field) => {
  await expect(find(1, over)).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { [field]: expect.any(Array) },
  })
})

test.each([
  { filters: { createdFrom: '2026-02-30T00:00:00Z' } },
  { filters: { updatedSince: 'soon' } },
])('a time that does not exist is refused: %j', async (over) => {
  await expect(find(1, over)).rejects.toMatchObject({ code: 'bad_request' })
})

describe('open appointments and callbacks', () => {
  let accountId: number
  let userId: number

  const schedule = async (subject: 'Appointment' | 'Callback', reference: string, date: string) => {
    const entry = { accountId, reference, userId, notify: false, date, idempotency: undefined }
    const { body } =
      subject === 'Appointment'
        ? await service.leads.scheduleAppointment({ appointment: entry })
        : await service.leads.scheduleCallback({ callback: entry })
    return JSON.parse(body.toString()).data.id as number
  }

  const finish = (table: string, id: number) =>
    service.db.query({ text: `UPDATE ${table} SET done_at = now() WHERE id = $1`, values: [id] })

  const listNext = async () => {
    const { leads } = await find(accountId, { managed: true })
    return leads.map(({ next }) => next?.date)
  }

  beforeAll(async () => {
    accountId = (await newAccount(service)).accountId
    const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
    userId = user!.id
    const [first, second, ...others] = numbered(5)
    const leads = await create(accountId, first!, { ...second!, postcode: 'M1 1AA' }, ...others)
    const [past, both, done, cancelled, erased] = leads.map(({ reference }) => reference)
    await schedule('Appointment', past!, '2026-03-01T09:00:00Z')
    await schedule('Callback', both!, '2026-03-03T09:00:00Z')
    await schedule('Appointment', both!, '2026-03-04T09:00:00Z')
    await schedule('Appointment', both!, '2026-03-05T09:00:00Z')
    await finish('callbacks', await schedule('Callback', done!, '2026-03-03T09:00:00Z'))
    const change = { accountId, reference: cancelled!, notify: false, date: undefined, userId: undefined }
    const id = await schedule('Appointment', cancelled!, '2999-03-03T09:00:00Z')
    await service.leads.cancelAppointment({ change: { ...change, id } })
    await schedule('Appointment', erased!, '2026-03-03T09:00:00Z')
    await service.leads.eraseLead({ accountId, reference: erased! })
  })

  test.each<[Partial<LeadFilters>, string[]]>([
    [{ dueTo: '2026-03-02T00:00:00Z' }, ['1']],
    [{ dueTo: '2999-01-01T00:00:00Z' }, ['2', '1']],
    [{ dueFrom: '2026-03-01T09:00:00Z', dueTo: '2026-03-03T09:00:00Z' }, ['1']],
    [{ dueFrom: '2026-03-03T00:00:00Z', dueTo: '2026-03-04T00:00:00Z' }, ['2']],
    [{ dueFrom: '2026-03-05T00:00:00Z' }, ['2']],
    [{ dueFrom: '2026-03-06T00:00:00Z' }, []],
    [{ dueTo: '2999-01-01T00:00:00Z', status: 'sold' }, []],
    // Fewer leads have the postcode than an open entry, so each of these leads is checked for an open entry.
    [{ dueTo: '2999-01-01T00:00:00Z', postcode: 'M1' }, ['2']],
    [{ dueTo: '2026-03-02T00:00:00Z', postcode: 'M1' }, []],
  ])('%j', async (filters, names) => {
    expect(await byFilters(accountId, filters)).toEqual(names)
  })

  test('the items show the earliest of them, the user and the customer', async () => {
    expect(await listNext()).toEqual([
      undefined,
      undefined,
      undefined,
      '2026-03-03T09:00:00.000000Z',
      '2026-03-01T09:00:00.000000Z',
    ])
    const [original] = (await find(accountId)).leads.slice(-1)
    const lead = newLead({ name: 'linked', userId, externalId: 'crm-1', mobile: '07700 900123' })
    const written = await service.leads.upsertLead({
      accountId,
      lead,
      idempotency: undefined,
      traceparent: '',
    })
    const { reference } = JSON.parse(written.body.toString()).data
    const marked = { accountId, reference, original: original!.reference }
    await service.leads.markLeadDuplicate(marked)
    const id = await schedule('Appointment', reference, '2026-04-01T09:00:00Z')
    const [plain] = (await find(accountId)).leads
    const expected = {
      ...plain,
      customer: {
        name: 'Ada Byron',
        email: 'ada@example.test',
        phone: '01632 960123',
        mobile: '07700 900123',
      },
      user: { id: userId, name: 'Sam', email: 'sam@example.test' },
      next: { kind: 'appointment', id, date: '2026-04-01T09:00:00.000000Z', user_id: userId },
      duplicate_of: original!.reference,
      external_id: 'crm-1',
    }
    expect((await find(accountId, { managed: true })).leads[0]).toEqual(expected)
    // Another release has written the JSON.
    await service.db.query({
      text: 'UPDATE leads SET json_format = 0 WHERE account_id = $1',
      values: [accountId],
    })
    const [outdated, unassigned] = (await find(accountId, { managed: true })).leads
    expect(outdated).toEqual(expected)
    expect(unassigned).toMatchObject({ user: null, next: null, duplicate_of: null, external_id: null })
    await service.accounts.removeUser({ accountId, userId, erase: false })
    const user = { id: userId, name: 'Sam', email: null }
    expect((await find(accountId, { managed: true })).leads[0]).toEqual({ ...expected, user })
  })
})
