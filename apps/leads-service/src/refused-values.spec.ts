import { randomUUID } from 'node:crypto'
import { type CreateLead, LeadsServiceDefinition, type NewLead } from '@leadwire/contracts'
import { connectGrpc } from '@leadwire/service-kit'
import {
  newAccount,
  newItem,
  newLead,
  type RunningLeadsService,
  readOutcomes,
  startLeadsService,
} from './leads-service.fixture'

// This spec sends values that the gateway and the command line would refuse. The database must refuse these
// values, too, and the error must be `bad_request`.

let service: RunningLeadsService
let accountId: number
let userId: number
let reference: string

beforeAll(async () => {
  service = await startLeadsService()
  const account = await newAccount(service)
  accountId = account.accountId
  const { user } = await service.accounts.createUser({ accountId, email: 'a@example.test', name: 'a' })
  userId = user!.id
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  reference = lead.reference
})
afterAll(() => service.stop())

const NUL = 'a\0b'
const LONG = 'x'.repeat(256)
// An int64 that JavaScript's numbers cannot represent safely.
const HUGE = 2 ** 60
const NO_IDS = [0, -1]
const NOBODY = 987_654_321

const leadWith = (over: Partial<NewLead>): Partial<CreateLead> => ({ lead: newLead(over) })

test('each refused item of a batch fails alone, and its neighbours are created', async () => {
  const refused: [string, Partial<CreateLead>][] = [
    ['unknown status', leadWith({ status: 'no such status' })],
    ['unknown referrer', leadWith({ referrer: 'Newspaper' })],
    ['negative value', leadWith({ value: -1 })],
    ['unknown user', leadWith({ userId: NOBODY })],
    ['a long name', leadWith({ name: LONG })],
    ['NUL in a description', leadWith({ description: NUL })],
    ['a long user agent', leadWith({ userAgent: 'x'.repeat(1025) })],
  ]
  const items = refused.flatMap(([, over]) => [newItem(accountId), newItem(accountId, over)])
  const outcomes = readOutcomes(await service.leads.createLeads({ leads: items }))
  const codes = refused.map(([name], index) => [name, outcomes[2 * index + 1].failure?.code])
  const isRefused = expect.stringMatching(/^(invalid|bad_request)$/)
  expect(codes).toEqual(refused.map(([name]) => [name, isRefused]))
  expect(refused.map((_, index) => outcomes[2 * index].failure)).toEqual(refused.map(() => undefined))
})

test('an unknown account, or token of a key, fails alone, and its neighbours are created', async () => {
  const idempotency = { tokenId: NOBODY, key: randomUUID(), fingerprint: Buffer.alloc(32) }
  const items = [newItem(accountId), newItem(NOBODY), newItem(accountId, { idempotency }), newItem(accountId)]
  const outcomes = readOutcomes(await service.leads.createLeads({ leads: items }))
  const codes = outcomes.map(({ failure }) => failure?.code)
  expect(codes).toEqual([undefined, 'not_found', 'bad_request', undefined])
})

test('each read of a batch that finds nothing fails alone', async () => {
  const reads = [
    ...NO_IDS.map((id) => ({ accountId: id, reference })),
    { accountId, reference: 'no uuid' },
    { accountId, reference: NUL },
    { accountId, reference },
  ]
  const outcomes = readOutcomes(await service.leads.retrieveLeads({ leads: reads }))
  const codes = outcomes.map(({ failure }) => failure?.code)
  expect(codes).toEqual(['not_found', 'not_found', 'not_found', 'not_found', undefined])
})

test('a number that JavaScript does not have is refused with its message, and the next message goes on', async () => {
  const huge = { leads: [newItem(accountId), newItem(accountId, leadWith({ userId: HUGE }))] }
  await expect(service.leads.createLeads(huge)).rejects.toMatchObject({ code: 'bad_request' })
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  expect(lead.failure).toBeUndefined()
})

const file = (over: object = {}) => ({
  name: 'a',
  fileName: 'a.png',
  fileSize: 1,
  contentType: 'image/png',
  key: randomUUID(),
  ...over,
})

const listRefusedCalls = (): [string, () => Promise<unknown>][] => {
  const { leads, accounts, attachments, imports } = service
  const lead = { accountId, reference }
  const entry = { ...lead, userId, notify: false, date: '2026-03-28T09:30:00Z' }
  const attachment = { ...lead, file: file(), baseUrl: 'https://a.test', claimId: '' }
  const change = newLead({ value: -1, upsert: { given: ['value'], ifMatch: undefined } })
  const bulk = { accountId, references: [reference], traceparent: '' }
  const due = { accountId, sort: '-created_at', perPage: 20, filters: { dueTo: 'soon' } }
  const token = { accountId, name: 'a', scopes: ['leads'], test: false }
  const visitor = { userAgent: 'a', ip: '192.0.2.1', test: false }
  const rows = {
    accountId,
    format: 'csv',
    webhooks: false,
    visitor,
    key: randomUUID(),
    fileSize: 1,
    claimId: '',
  }
  return [
    ['value', () => leads.updateLead({ ...lead, value: -1, notify: false })],
    ['status', () => leads.updateLead({ ...lead, status: 'no such', notify: false })],
    ['NUL in a user email', () => leads.updateLead({ ...lead, userEmail: NUL, notify: false })],
    ['a changed value', () => leads.updateManagedLead({ ...lead, lead: change, traceparent: '' })],
    ['no changed lead', () => leads.updateManagedLead({ ...lead, lead: undefined, traceparent: '' })],
    ['a value in bulk', () => leads.updateLeadsInBulk({ ...bulk, lead: change })],
    ['no lead in bulk', () => leads.updateLeadsInBulk({ ...bulk, lead: undefined })],
    ['a date of entries', () => leads.findLeads({ ...due, place: { $case: 'page', value: 1 } })],
    ['no appointment', () => leads.scheduleAppointment({ appointment: undefined })],
    ['no callback', () => leads.scheduleCallback({ callback: undefined })],
    ['no change', () => leads.rescheduleCallback({ change: undefined })],
    ['no cancellation', () => leads.cancelAppointment({ change: undefined })],
    ...['', 'infinity', '2026-13-28T09:30:00Z', '0000-01-01T00:00:00Z', NUL].map(
      (date): [string, () => Promise<unknown>] => [
        `date ${date}`,
        () => leads.scheduleCallback({ callback: { ...entry, date } }),
      ],
    ),
    ['neither email nor phone', () => leads.findPersonLeads({ accountId })],
    ['names of no references', () => leads.findLeadNames({ accountId, references: ['no uuid'] })],
    ['no file', () => attachments.attachFile({ ...attachment, file: undefined })],
    ['an empty file', () => attachments.attachFile({ ...attachment, file: file({ fileSize: 0 }) })],
    ['a long file name', () => attachments.attachFile({ ...attachment, file: file({ fileName: LONG }) })],
    ['no image', () => attachments.createImage({ accountId, file: undefined })],
    ['a long alt', () => attachments.createImage({ accountId, file: file(), alt: LONG })],
    ['an image of nobody', () => attachments.createImage({ accountId: NOBODY, file: file() })],
    ['NUL in a name', () => accounts.createAccount({ name: NUL })],
    ['a long name', () => accounts.createAccount({ name: LONG })],
    ['no name', () => accounts.createAccount({ name: '' })],
    ['a long contact', () => accounts.updateAccount({ accountId, contactEmail: LONG })],
    ['a long name of a user', () => accounts.updateUser({ accountId, userId, name: LONG })],
    ['a long email', () => accounts.createUser({ accountId, name: 'a', email: `${LONG}@example.test` })],
    ['no scopes', () => accounts.createToken({ ...token, scopes: [] })],
    ['a long name of a token', () => accounts.createToken({ ...token, name: LONG })],
    ['an endless expiry', () => accounts.createToken({ ...token, expiresAt: 'infinity' })],
    ['no expiry', () => accounts.createToken({ ...token, expiresAt: 'soon' })],
    ['a wide token of an endpoint', () => accounts.createToken({ ...token, endpointId: 1 })],
    ['a wide token in public', () => accounts.createToken({ ...token, origins: ['https://a.test'] })],
    ['no visitor', () => imports.createImport({ ...rows, visitor: undefined })],
    ['format of an import', () => imports.createImport({ ...rows, format: 'pdf' })],
    ['no claim', () => imports.releaseImport({ claim: undefined, fileDeleted: false })],
  ]
}

test('every other call refuses what it can not store', async () => {
  const calls = listRefusedCalls()
  const codes: [string, string][] = []
  for (const [name, call] of calls) {
    const code = await call().then(
      () => 'accepted',
      (error: { code: string }) => error.code,
    )
    codes.push([name, code])
  }
  expect(codes).toEqual(calls.map(([name]) => [name, 'bad_request']))
})

test('a search without words and an unknown cursor are invalid', async () => {
  const list = { accountId, sort: '-created_at', perPage: 20 }
  const q = '… … …'
  await expect(
    service.leads.findLeads({ ...list, filters: { q }, place: { $case: 'page', value: 1 } }),
  ).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { q: ['The q must have 1 to 8 words with letters or digits.'] },
  })
  await expect(
    service.leads.findLeads({ ...list, place: { $case: 'cursor', value: '1); --' } }),
  ).rejects.toMatchObject({
    code: 'invalid',
    fieldErrors: { cursor: [expect.stringContaining('The cursor is invalid.')] },
  })
})

test('what refers to nothing is not found, the same image key twice is refused', async () => {
  const { accounts, attachments } = service
  for (const id of [NOBODY, ...NO_IDS])
    await expect(accounts.retrieveAccount({ accountId: id })).rejects.toMatchObject({ code: 'not_found' })
  const user = { email: 'b@example.test', name: 'b' }
  await expect(accounts.createUser({ accountId: NOBODY, ...user })).rejects.toMatchObject({
    code: 'not_found',
  })
  const stored = { accountId, file: file() }
  await attachments.createImage(stored)
  await expect(attachments.createImage(stored)).rejects.toMatchObject({ code: 'bad_request' })
})

test('every constraint holds for the rows that were there before it', async () => {
  const open = await service.db.query<{ name: string }>({
    text: `SELECT conname AS name FROM pg_constraint
      WHERE contype = 'c' AND NOT convalidated AND connamespace = 'public'::regnamespace`,
  })
  expect(open).toEqual([])
})

test('bytes that are no message are refused as such', async () => {
  const { updateLead } = LeadsServiceDefinition.methods
  const garbage = {
    ...LeadsServiceDefinition,
    methods: {
      updateLead: {
        ...updateLead,
        requestType: {
          ...updateLead.requestType,
          encode: () => ({ finish: () => Buffer.from([0xff, 0xff]) }),
        },
      },
    },
  } as unknown as typeof LeadsServiceDefinition
  const client = connectGrpc(service.target, { lifecycle: service.lifecycle, tokens: [] }).client(garbage, {
    deadlineMs: 20_000,
  })
  await expect(client.updateLead({})).rejects.toMatchObject({ code: 'bad_request' })
})
