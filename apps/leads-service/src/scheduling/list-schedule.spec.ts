import type { ListScheduleRequest } from '@leadwire/contracts'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'
import { SETTINGS, selectSchedule } from './list-schedule'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

type Kind = 'appointment' | 'callback'

interface Entry {
  kind: Kind
  id: number
  date: string
  lead_reference: string
}

/** Makes an account with two users and a lead. */
const newScene = async () => {
  const { accountId } = await newAccount(service)
  const newUser = async (name: string) =>
    (await service.accounts.createUser({ accountId, email: `${name}@example.test`, name })).user!.id
  const createLead = async (): Promise<{ id: number; reference: string }> => {
    const lead = newLead({ mobile: '07700 900123' })
    return readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId, { lead })] }))[0]
  }
  const [sam, kim] = [await newUser('Sam'), await newUser('Kim')]
  const lead = await createLead()
  /** Inserts an entry at a minute of 2026-03-28, from 09:00 on. Returns the id. */
  const add = async (
    kind: Kind,
    minute: number,
    {
      userId = sam,
      leadId = lead.id,
      state = 'open',
    }: { userId?: number; leadId?: number; state?: string } = {},
  ) => {
    const [row] = await service.db.query<{ id: number }>({
      text: `INSERT INTO ${kind}s (account_id, lead_id, user_id, date, notify, invitation_id, done_at, cancelled_at)
        SELECT $1, $2, $3, '2026-03-28T09:00:00Z'::timestamptz + $4 * interval '1 minute', false, gen_random_uuid(),
          CASE WHEN $5 = 'done' THEN now() END, CASE WHEN $5 = 'cancelled' THEN now() END RETURNING id`,
      values: [accountId, leadId, userId, minute, state],
    })
    return row!.id
  }
  const list = async (asked: Partial<ListScheduleRequest> = {}) => {
    const request = { accountId, state: 'open', ...asked }
    const { items, nextAfter } = await service.leads.listSchedule(request)
    return { entries: JSON.parse(items.toString()) as Entry[], nextAfter }
  }
  const listIds = async (asked: Partial<ListScheduleRequest> = {}) =>
    (await list(asked)).entries.map(({ id }) => id)
  return { accountId, sam, kim, lead, createLead, add, list, listIds }
}

test('an entry has its lead, its customer and its user', async () => {
  const { accountId, sam, lead, add, list } = await newScene()
  const id = await add('callback', 0)
  await service.accounts.removeUser({ accountId, userId: sam })
  const { customer, ...shown } = JSON.parse(
    (await service.leads.retrieveManagedLead({ accountId, reference: lead.reference })).body.toString(),
  ).data
  const { entries, nextAfter } = await list()
  expect(entries).toEqual([
    {
      kind: 'callback',
      id,
      lead_reference: lead.reference,
      user_id: sam,
      date: '2026-03-28T09:00:00.000000Z',
      notify: false,
      created_at: expect.stringMatching(/\.\d{6}Z$/),
      cancelled_at: null,
      done_at: null,
      remind: false,
      lead: { reference: lead.reference, name: shown.name, status: shown.status, value: shown.value },
      customer: {
        name: customer.name,
        email: customer.email,
        phone: customer.phone,
        mobile: '07700 900123',
        postcode: customer.postcode,
      },
      // The user was removed.
      user: { id: sam, name: 'Sam' },
    },
  ])
  expect(nextAfter).toBeUndefined()
})

test('entries are ordered by date, kind and id, and each filter selects its entries', async () => {
  const { sam, kim, add, listIds } = await newScene()
  const late = await add('appointment', 2, { userId: kim })
  const callback = await add('callback', 1)
  const appointment = await add('appointment', 1)
  const nextAppointment = await add('appointment', 1)
  const done = await add('callback', 0, { state: 'done' })
  const cancelled = await add('appointment', 3, { state: 'cancelled' })
  const open = [appointment, nextAppointment, callback, late]
  expect(await listIds()).toEqual(open)
  expect(await listIds({ state: 'done' })).toEqual([done])
  expect(await listIds({ state: 'all' })).toEqual([done, ...open, cancelled])
  expect(await listIds({ kind: 'callback' })).toEqual([callback])
  expect(await listIds({ kind: 'appointment', state: 'all' })).toEqual([
    appointment,
    nextAppointment,
    late,
    cancelled,
  ])
  expect(await listIds({ userId: kim, state: 'all' })).toEqual([late])
  expect(await listIds({ userId: sam, state: 'done' })).toEqual([done])
  expect(await listIds({ userId: sam })).toEqual([appointment, nextAppointment, callback])
  const [from, to] = ['2026-03-28T09:01:00Z', '2026-03-28T09:02:00Z']
  expect(await listIds({ from, to })).toEqual([appointment, nextAppointment, callback])
  expect(await listIds({ from: to, to: from })).toEqual([])
  const { listIds: listOthers } = await newScene()
  expect(await listOthers({ state: 'all' })).toEqual([])
})

test('a cursor leads to each entry once, and past the entries of an erased lead', async () => {
  const { add, list, createLead, accountId } = await newScene()
  const erased = await createLead()
  const expected: string[] = []
  // Each date has two appointments and two callbacks. The second callback is of a lead that is erased. The
  // erasure cancels it, so only a list of all states reads past it.
  for (let minute = 0; minute < 84; minute += 1)
    for (const kind of ['appointment', 'appointment', 'callback'] as const)
      expected.push(`${minute} ${kind} ${await add(kind, minute)}`)
  for (let minute = 0; minute < 84; minute += 1) await add('callback', minute, { leadId: erased.id })
  await service.leads.eraseLead({ accountId, reference: erased.reference })
  const [seen, sizes]: [string[], number[]] = [[], []]
  let after: ListScheduleRequest['after']
  do {
    const { entries, nextAfter } = await list({ after, state: 'all' })
    sizes.push(entries.length)
    for (const { date, kind, id } of entries) {
      const minute = (Date.parse(date) - Date.parse('2026-03-28T09:00:00Z')) / 60_000
      seen.push(`${minute} ${kind} ${id}`)
    }
    after = nextAfter
  } while (after)
  expect(seen).toEqual(expected)
  expect(sizes).toEqual([75, 75, 75, 27])
})

test('entries of an erased lead are left out, in whatever state they are', async () => {
  const { accountId, lead, add, listIds } = await newScene()
  for (const state of ['open', 'done', 'cancelled']) await add('callback', 0, { state })
  await service.leads.eraseLead({ accountId, reference: lead.reference })
  for (const state of ['open', 'done', 'all']) expect(await listIds({ state })).toEqual([])
})

describe('a page is one range of one index, however many entries are in another state or of another user', () => {
  let accountId: number
  let userId: number
  beforeAll(async () => {
    const scene = await newScene()
    ;({ accountId, sam: userId } = scene)
    // A tenth of the entries are of the user, and a third of the entries are in each state.
    await service.db.query({
      text: `INSERT INTO callbacks (account_id, lead_id, user_id, date, notify, invitation_id, done_at, cancelled_at)
        SELECT $1, $2, CASE WHEN n % 10 = 0 THEN $3 ELSE $4 END::bigint, now() + n * interval '1 minute', false,
          gen_random_uuid(), CASE WHEN n % 3 = 0 THEN now() END, CASE WHEN n % 3 = 1 THEN now() END
        FROM generate_series(1, 6000) n`,
      values: [accountId, scene.lead.id, userId, scene.kim],
    })
    await service.db.query({ text: 'ANALYZE callbacks' })
  })

  test.each([
    ['open', false, 'callbacks_open_by_date'],
    ['done', false, 'callbacks_done_by_date'],
    ['all', false, 'callbacks_by_date'],
    ['open', true, 'callbacks_open_of_user_by_date'],
    ['done', true, 'callbacks_done_of_user_by_date'],
    ['all', true, 'callbacks_of_user_by_date'],
  ] as const)('state %s, of one user: %s', async (state, ofUser, index) => {
    const name = `plan_of_${state}_${ofUser}`
    const types = ['bigint', 'timestamptz', 'bigint', 'timestamptz', ...(ofUser ? ['bigint'] : [])]
    const values = [accountId, `'-infinity'`, 0, `'infinity'`, ...(ofUser ? [userId] : [])]
    const plan = await service.db.transaction(async (tx) => {
      for (const text of SETTINGS) tx.send({ text })
      tx.send({ text: 'SET LOCAL plan_cache_mode = force_generic_plan' })
      tx.send({ text: `PREPARE ${name} (${types}) AS ${selectSchedule('callback', state, ofUser)}` })
      return tx.query<{ 'QUERY PLAN': string }>({
        text: `EXPLAIN (ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF) EXECUTE ${name} (${values})`,
      })
    })
    const text = plan.map((row) => row['QUERY PLAN']).join('\n')
    expect(text).toMatch(new RegExp(`Index Scan using ${index} on callbacks`))
    // PostgreSQL would show a condition that the index lacks as a filter.
    expect(text).not.toMatch(/Sort|cancelled_at|done_at/)
  })
})
