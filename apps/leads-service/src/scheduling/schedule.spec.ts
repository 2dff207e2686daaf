import { randomUUID } from 'node:crypto'
import {
  newAccount,
  newItem,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const scene = async () => {
  const account = await newAccount(service)
  const { accountId } = account
  const { user } = await service.accounts.createUser({ accountId, email: 'sam@example.test', name: 'Sam' })
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  return {
    ...account,
    userId: user!.id,
    lead,
    asked: {
      accountId,
      reference: lead.reference,
      userId: user!.id,
      notify: true,
      date: '2026-03-28T09:30:00Z',
      idempotency: undefined,
    },
  }
}

const operations = {
  appointment: async (asked: object) =>
    (await service.leads.scheduleAppointment({ appointment: asked as never })).body.toString(),
  callback: async (asked: object) =>
    (await service.leads.scheduleCallback({ callback: asked as never })).body.toString(),
}

const outboxTypes = async (accountId: number) =>
  (
    await service.db.query<{ type: string }>({
      text: 'SELECT type FROM outbox WHERE account_id = $1 ORDER BY created_at',
      values: [accountId],
    })
  ).map(({ type }) => type)

describe.each(['appointment', 'callback'] as const)('%s', (subject) => {
  const schedule = operations[subject]

  test('is answered with its record, told to its user, and leaves the lead as it is', async () => {
    const { asked, lead, accountId } = await scene()
    const { data } = JSON.parse(await schedule(asked))
    expect(data).toEqual({
      id: expect.any(Number),
      lead_reference: lead.reference,
      user_id: asked.userId,
      date: '2026-03-28T09:30:00.000000Z',
      notify: true,
      created_at: expect.stringMatching(/\.\d{6}Z$/),
    })
    expect(await outboxTypes(accountId)).toEqual([
      'lead.created',
      'notification.requested',
      `${subject}.scheduled`,
    ])
    const [after] = readOutcomes(await service.leads.retrieveLeads({ leads: [asked] }))
    expect(after).toEqual(lead)
  })

  test('without notify tells nobody', async () => {
    const { asked, accountId } = await scene()
    await schedule({ ...asked, notify: false })
    expect(await outboxTypes(accountId)).toEqual(['lead.created', `${subject}.scheduled`])
  })

  test('of an unknown lead is not found, of another account’s user is an error', async () => {
    const [{ asked }, other] = [await scene(), await scene()]
    await expect(schedule({ ...asked, reference: randomUUID() })).rejects.toMatchObject({ code: 'not_found' })
    await expect(schedule({ ...asked, reference: other.lead.reference })).rejects.toMatchObject({
      code: 'not_found',
    })
    await expect(schedule({ ...asked, userId: other.userId })).rejects.toMatchObject({
      code: 'invalid',
      fieldErrors: { user_id: ['The selected user id is invalid.'] },
    })
  })

  test('under one key, many at once, is made once and answered alike', async () => {
    const { asked, tokenId, accountId } = await scene()
    const idempotency = { tokenId, key: subject, fingerprint: Buffer.alloc(32, 1) }
    const settled = await Promise.allSettled(
      Array.from({ length: 50 }, () => schedule({ ...asked, idempotency })),
    )
    const bodies = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(new Set(bodies).size).toBe(1)
    for (const result of settled) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'conflict' })
    }
    expect(await schedule({ ...asked, idempotency })).toBe(bodies[0])
    expect(await outboxTypes(accountId)).toEqual([
      'lead.created',
      'notification.requested',
      `${subject}.scheduled`,
    ])
  })
})
