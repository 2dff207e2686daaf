import { eventually, gate } from '@leadwire/test-kit'
import {
  holdAccount,
  lockWaiters,
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const SAM = { email: 'sam@example.test', name: 'Sam' }

const scene = async () => {
  const { accountId } = await newAccount(service)
  const { user } = await service.accounts.createUser({ accountId, ...SAM })
  return { accountId, user: user!, key: { accountId, userId: user!.id } }
}

const createLead = async (accountId: number, over: Parameters<typeof newLead>[0] = {}) =>
  readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId, { lead: newLead(over) })] }))[0]

const assign = (accountId: number, reference: string, userEmail?: string) =>
  service.leads.updateLead({ accountId, reference, userEmail, notify: true })

const schedule = (accountId: number, reference: string, userId: number) =>
  service.leads.scheduleAppointment({
    appointment: {
      accountId,
      reference,
      userId,
      notify: true,
      date: '2026-03-28T09:30:00Z',
      idempotency: undefined,
    },
  })

const notified = async (accountId: number) =>
  (
    await service.db.query({
      text: `SELECT event_id FROM outbox WHERE type = 'notification.requested' AND account_id = $1`,
      values: [accountId],
    })
  ).length

const readAssignee = async ({ id }: { id: number }) =>
  (
    await service.db.query<{ user_id: number }>({
      text: 'SELECT user_id FROM leads WHERE id = $1',
      values: [id],
    })
  )[0]!.user_id

test('what is given of a user changes, and the rest stays', async () => {
  const { user, key } = await scene()
  const { accounts } = service
  const changed = async (change: object) => (await accounts.updateUser({ ...key, ...change })).user
  expect(await changed({})).toEqual(user)
  expect(await changed({ name: 'Samantha' })).toEqual({ ...user, name: 'Samantha' })
  expect(await changed({ email: 'SAM@example.test' })).toEqual({
    ...user,
    name: 'Samantha',
    email: 'SAM@example.test',
  })
  expect((await accounts.retrieveUser(key)).user).toEqual(await changed({}))
})

test.each([
  ['kim@bücher.example', 'Kim@XN--BCHER-KVA.example'],
  ['kim@bu\u0308cher.example', 'kim@bücher.example'],
  ['kim@xn--bcher-kva.example', 'KIM@BÜCHER.example'],
])('the user %s is found as %s, and has that address alone', async (email, spelling) => {
  const { accountId } = await scene()
  const { user } = await service.accounts.createUser({ accountId, email, name: 'Kim' })
  expect(user!.email).toBe('kim@bücher.example')
  const lead = await createLead(accountId)
  const { reference } = lead as { reference: string }
  await assign(accountId, reference, spelling)
  expect(await readAssignee(lead as { id: number })).toBe(user!.id)
  await expect(
    service.accounts.createUser({ accountId, email: spelling, name: 'Kim' }),
  ).rejects.toMatchObject({ fieldErrors: { email: ['The email has already been taken.'] } })
})

test('an address is stored in NFC, and found in any form', async () => {
  const { accountId } = await scene()
  const decomposed = { accountId, email: 'jose\u0301@example.test', name: 'José' }
  const { user } = await service.accounts.createUser(decomposed)
  expect(user!.email).toBe('jos\u00e9@example.test')
  await expect(service.accounts.createUser(decomposed)).rejects.toMatchObject({
    fieldErrors: { email: ['The email has already been taken.'] },
  })
})

test('an e-mail that another user has is refused, whatever its case', async () => {
  const { accountId, key } = await scene()
  await service.accounts.createUser({ accountId, email: 'kim@example.test', name: 'Kim' })
  const change = (fields: object) => service.accounts.updateUser({ ...key, ...fields })
  await expect(change({ email: 'KIM@example.test' })).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { email: ['The email has already been taken.'] },
  })
})

test('a removed user leaves the list, is still retrieved, and is removed once', async () => {
  const { accountId, user, key } = await scene()
  const { accounts } = service
  const removed = (await accounts.removeUser(key)).user!
  expect(removed).toEqual({ ...user, removedAt: expect.stringMatching(/\.\d{6}Z$/) })
  expect(await accounts.removeUser(key)).toEqual({ user: removed })
  expect(await accounts.retrieveUser(key)).toEqual({ user: removed })
  expect(await accounts.listUsers({ accountId, limit: 100 })).toEqual({ users: [] })
  for (const change of [{ name: 'Sue' }, {}])
    await expect(accounts.updateUser({ ...key, ...change })).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: { id: ['The user was removed and cannot be changed.'] },
    })
})

test('the e-mail of a removed user is free, for a new user and for one that is there', async () => {
  const { accountId, user, key } = await scene()
  const { accounts } = service
  const kim = (await accounts.createUser({ accountId, email: 'kim@example.test', name: 'Kim' })).user!
  await accounts.removeUser(key)
  const again = (await accounts.createUser({ accountId, ...SAM })).user!
  expect(again.id).not.toBe(user.id)
  expect((await accounts.listUsers({ accountId, limit: 100 })).users).toEqual([kim, again])
  await accounts.removeUser({ accountId, userId: again.id })
  const renamed = await accounts.updateUser({ accountId, userId: kim.id, email: SAM.email })
  expect(renamed.user).toMatchObject({ id: kim.id, email: SAM.email })
})

test('users are listed in pages, without those who were removed', async () => {
  const { accountId, user, key } = await scene()
  const { accounts } = service
  const made = [user]
  for (const name of ['Ann', 'Bob', 'Cat', 'Dan']) {
    const { user: next } = await accounts.createUser({ accountId, email: `${name}@example.test`, name })
    made.push(next!)
  }
  const [, ann, bob, cat, dan] = made
  await accounts.removeUser({ accountId, userId: bob!.id })
  const first = await accounts.listUsers({ accountId, limit: 2 })
  expect(first).toEqual({ users: [user, ann], nextAfter: ann!.id })
  // Removes a user of the first page, which must not shift the next page.
  await accounts.removeUser(key)
  const last = await accounts.listUsers({ accountId, after: ann!.id, limit: 2 })
  expect(last).toEqual({ users: [cat, dan] })
  expect(await accounts.listUsers({ accountId, after: dan!.id, limit: 2 })).toEqual({ users: [] })
})

test('another account’s user, and one that is not there, are not found', async () => {
  const [{ key }, other] = [await scene(), await newAccount(service)]
  const { accounts } = service
  for (const asked of [
    { ...key, accountId: other.accountId },
    { ...key, userId: 987_654_321 },
  ])
    for (const call of [accounts.retrieveUser, accounts.updateUser, accounts.removeUser])
      await expect(call(asked)).rejects.toMatchObject({ code: 'not_found' })
  expect((await accounts.retrieveUser(key)).user!.removedAt).toBeUndefined()
})

test('a removed user is assigned to nothing more, and what it was assigned to stays', async () => {
  const { accountId, user, key } = await scene()
  const lead = await createLead(accountId, { userId: user.id })
  await schedule(accountId, lead.reference, user.id)
  await service.accounts.removeUser(key)
  const byId = { code: 'invalid', fieldErrors: { user_id: ['The selected user id is invalid.'] } }
  const byEmail = { code: 'invalid', fieldErrors: { user_email: ['The selected user email is invalid.'] } }
  expect((await createLead(accountId, { userId: user.id })).failure).toMatchObject(byId)
  await expect(schedule(accountId, lead.reference, user.id)).rejects.toMatchObject(byId)
  await expect(assign(accountId, lead.reference, user.email)).rejects.toMatchObject(byEmail)
  expect(await readAssignee(lead)).toBe(user.id)
  const { items } = await service.leads.listAppointments({ accountId, reference: lead.reference })
  expect(JSON.parse(items.toString())).toMatchObject([{ user_id: user.id }])
})

test('notify of a lead whose user was removed tells nobody, and changes the lead', async () => {
  const { accountId, user, key } = await scene()
  const { reference } = await createLead(accountId, { userId: user.id })
  await service.accounts.removeUser(key)
  const { body } = await service.leads.updateLead({ accountId, reference, value: 7, notify: true })
  expect(JSON.parse(body.toString()).data).toMatchObject({ value: 7 })
  expect(await notified(accountId)).toBe(0)
})

test('a user who is removed while a lead is being created for it keeps the lead', async () => {
  const { accountId, user, key } = await scene()
  const { release, waiters } = await holdAccount(service, accountId)
  const creating = createLead(accountId, { userId: user.id })
  await eventually(async () => expect(await waiters()).toBe(1))
  await service.accounts.removeUser(key)
  await release()
  expect(await readAssignee(await creating)).toBe(user.id)
})

/**
 * Removes a user in a transaction that stays open until the returned function is called. Unlike `removeUser`,
 * locks the row with FOR UPDATE. An assignment that still sees the user therefore waits until the transaction
 * ends.
 */
const removeSlowly = async (userId: number) => {
  const [held, release] = [gate(), gate()]
  const removing = service.db.transaction(async (tx) => {
    await tx.query({ text: 'SELECT id FROM users WHERE id = $1 FOR UPDATE', values: [userId] })
    await tx.query({
      text: 'UPDATE users SET removed_at = clock_timestamp() WHERE id = $1',
      values: [userId],
    })
    held.open()
    await release.opened
  })
  await held.opened
  return () => {
    release.open()
    return removing
  }
}

test.each([
  'assigned to a lead',
  'given an appointment',
])('a user who is removed while it is %s is not told', async (what) => {
  const { accountId, user } = await scene()
  const lead = await createLead(accountId)
  const release = await removeSlowly(user.id)
  const attempt =
    what === 'assigned to a lead'
      ? assign(accountId, lead.reference, user.email)
      : schedule(accountId, lead.reference, user.id)
  await eventually(async () => expect(await lockWaiters(service)).toBe(1))
  await release()
  await attempt
  expect(await notified(accountId)).toBe(0)
})

test('of two who take one e-mail at once, one has it', async () => {
  const { accountId, key } = await scene()
  const { user } = await service.accounts.createUser({ accountId, email: 'kim@example.test', name: 'Kim' })
  const email = 'new@example.test'
  const settled = await Promise.allSettled([
    service.accounts.updateUser({ ...key, email }),
    service.accounts.updateUser({ accountId, userId: user!.id, email }),
    service.accounts.createUser({ accountId, email, name: 'Lee' }),
  ])
  const refused = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused).toMatchObject([{ code: 'invalid' }, { code: 'invalid' }])
})

const save = (
  key: { accountId: number; userId: number },
  name: string,
  filters: object = {},
  sort?: string,
) => service.accounts.saveView({ ...key, name, filters: JSON.stringify(filters), sort })

const listNames = async (key: { accountId: number; userId: number }) =>
  (await service.accounts.listViews(key)).views.map(({ name }) => name)

test('a search that the list of leads would refuse is refused in a view', async () => {
  const { key } = await scene()
  await expect(save(key, 'Hot', { q: '!!!' })).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { 'filters.q': [expect.stringContaining('1 to 8 words')] },
  })
  expect(await listNames(key)).toEqual([])
})

test('a view is saved, replaced and deleted, and the audit log hides its search', async () => {
  const { accountId, key } = await scene()
  const { view } = await save(key, 'Hot', { q: 'ada@example.test', status: 'open' }, '-updated_at')
  expect(view).toEqual({
    name: 'Hot',
    filters: '{"q": "ada@example.test", "status": "open"}',
    sort: '-updated_at',
    createdAt: expect.stringMatching(/\.\d{6}Z$/),
    updatedAt: expect.any(String),
  })
  // The same filters in another order are no change.
  expect(await save(key, 'Hot', { status: 'open', q: 'ada@example.test' }, '-updated_at')).toEqual({ view })
  const { view: replaced } = await save(key, 'Hot', { due: 'today' })
  expect(replaced).toEqual({
    name: 'Hot',
    filters: '{"due": "today"}',
    sort: undefined,
    createdAt: view!.createdAt,
    updatedAt: expect.any(String),
  })
  expect(replaced!.updatedAt > view!.updatedAt).toBe(true)
  await save(key, 'Cold')
  expect(await listNames(key)).toEqual(['Cold', 'Hot'])
  expect(await service.accounts.deleteView({ ...key, name: 'Hot' })).toEqual({ view: replaced })
  expect(await listNames(key)).toEqual(['Cold'])
  await expect(service.accounts.deleteView({ ...key, name: 'Hot' })).rejects.toMatchObject({
    code: 'not_found',
  })
  const { entries } = await service.audit.listAudit({ accountId, before: undefined })
  const views = entries.filter(({ targetType }) => targetType === 'view')
  const hidden = { from: null, to: null }
  expect(views.map(({ action, changes }) => [action, JSON.parse(changes)])).toEqual([
    ['view.deleted', {}],
    ['view.created', { name: hidden, filters: hidden }],
    ['view.updated', { filters: hidden, sort: hidden }],
    ['view.created', { name: hidden, filters: hidden, sort: hidden }],
  ])
})

test('a user sees only their own views, and has at most 50 of them, also with concurrent requests', async () => {
  const { accountId, key } = await scene()
  const { user } = await service.accounts.createUser({ accountId, email: 'kim@example.test', name: 'Kim' })
  const other = { accountId, userId: user!.id }
  await save(other, 'Own')
  const settled = await Promise.allSettled(
    Array.from({ length: 55 }, (_, index) => save(key, `View ${index}`)),
  )
  const refused = settled.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []))
  expect(refused).toHaveLength(5)
  for (const reason of refused)
    expect(reason).toMatchObject({
      code: 'invalid',
      fieldErrors: {
        views: ['A user may not have more than 50 views. Delete views that are no longer needed.'],
      },
    })
  const [name] = await listNames(key)
  await save(key, name!, { status: 'sold' })
  expect(await listNames(key)).toHaveLength(50)
  expect(await listNames(other)).toEqual(['Own'])
})

test('a removed user has no views, and can save none', async () => {
  const { key } = await scene()
  await save(key, 'Hot')
  await service.accounts.removeUser({ ...key, erase: true })
  expect(await listNames(key)).toEqual([])
  await expect(save(key, 'Hot')).rejects.toMatchObject({ code: 'not_found' })
})
