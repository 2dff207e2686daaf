import { randomUUID } from 'node:crypto'
import { type Actor, type CreateLead, LeadsServiceDefinition, type NewLead } from '@leadwire/contracts'
import { connectGrpc } from '@leadwire/service-kit'
import {
  itemWith,
  newAccount,
  newImage,
  newItem,
  newLead,
  outcomesOf,
  quoteOf,
  type RunningLeadsService,
  startLeadsService,
} from './leads-service.fixture'

let service: RunningLeadsService
let accountId: number
let tokenId: number
let image: { id: number }

beforeAll(async () => {
  service = await startLeadsService()
  const account = await newAccount(service)
  accountId = account.accountId
  tokenId = account.tokenId
  image = await newImage(service, accountId)
})
afterAll(() => service.stop())

const NUL = 'a\0b'
// int64 has it, JavaScript's numbers don't.
const HUGE = 2 ** 60
const WRONG_IDS = [0, -1]
const NOBODY = 987_654_321

// Both are INVALID_ARGUMENT.
const WRONG = expect.stringMatching(/^(invalid|bad_request)$/)

const leadWith = (over: Partial<NewLead>): Partial<CreateLead> => ({ lead: newLead(over) })
const itemOf = (over: object) => leadWith({ quotes: [quoteOf({ ...itemWith(image), ...over })] })
const keyed = (over: object) => ({
  idempotency: { tokenId, key: randomUUID(), fingerprint: Buffer.alloc(32), ...over },
})

const actor = (over: Partial<Actor>) => ({ tokenId, tokenName: 'a', requestId: 'a', ...over })

const wrongItems = (): [string, Partial<CreateLead>][] => [
  ...WRONG_IDS.map((id): [string, Partial<CreateLead>] => [`account ${id}`, { accountId: id }]),
  ['no lead', { lead: undefined }],
  ['no status', leadWith({ status: '' })],
  ['unknown status', leadWith({ status: 'no such status' })],
  ['unknown referrer', leadWith({ referrer: 'Newspaper' })],
  ['negative value', leadWith({ value: -1 })],
  ['postcode', leadWith({ postcode: 'sw1a1aa' })],
  ['email', leadWith({ email: 'nobody' })],
  ['phone', leadWith({ phone: 'none' })],
  ['mobile', leadWith({ mobile: NUL })],
  ['user', leadWith({ userId: -1 })],
  ['unknown user', leadWith({ userId: NOBODY })],
  ...(
    ['name', 'firstName', 'lastName', 'companyName', 'description', 'userAgent', 'ip', 'referrerUrl'] as const
  ).map((field): [string, Partial<CreateLead>] => [`NUL in ${field}`, leadWith({ [field]: NUL })]),
  ['a long name', leadWith({ name: 'x'.repeat(256) })],
  ['NUL in a quote', leadWith({ quotes: [{ status: NUL, items: [] }] })],
  ...(['name', 'format', 'status', 'productStyleSku', 'productStyleName', 'productName'] as const).map(
    (field): [string, Partial<CreateLead>] => [`NUL in an item's ${field}`, itemOf({ [field]: NUL })],
  ),
  ...['', '{', '[]', 'null', '{"a":true}', '{"a":1e999}', '{"a":"\\u0000"}', '{"a":null}', NUL].map(
    (options): [string, Partial<CreateLead>] => [`options ${options}`, itemOf({ options })],
  ),
  ['a margin that is no number', itemOf({ margin: Number.NaN })],
  ['an infinite maximum', itemOf({ maximum: Number.POSITIVE_INFINITY })],
  ['product style', itemOf({ productStyleId: -1 })],
  ['image', itemOf({ imageId: 0 })],
  ['unknown image', itemOf({ imageId: NOBODY })],
  ['traceparent', { traceparent: 'a\r\nb' }],
  ['token of an actor', { actor: actor({ tokenId: 0 }) }],
  ['NUL in a request id', { actor: actor({ requestId: NUL }) }],
  ['no key', keyed({ key: '' })],
  ['NUL in a key', keyed({ key: NUL })],
  ['token', keyed({ tokenId: -1 })],
  ['no fingerprint', keyed({ fingerprint: Buffer.alloc(0) })],
]

test('wrong items of one message fail each on its own, and their neighbours are created', async () => {
  const wrong = wrongItems()
  const items = wrong.flatMap(([, over]) => [newItem(accountId), newItem(accountId, over)])
  const outcomes = outcomesOf(await service.leads.createLeads({ leads: items }))
  expect(outcomes).toHaveLength(items.length)
  const codes = wrong.map(([name], index) => [name, outcomes[2 * index + 1].failure?.code])
  expect(codes).toEqual(wrong.map(([name]) => [name, WRONG]))
  expect(wrong.map((_, index) => outcomes[2 * index].failure)).toEqual(wrong.map(() => undefined))
})

test('an account, or the token of a key, that is not there is not found, and its neighbours are created', async () => {
  const items = [
    newItem(accountId),
    newItem(NOBODY),
    newItem(accountId, keyed({ tokenId: NOBODY })),
    newItem(accountId),
  ]
  const codes = async (leads: CreateLead[]) =>
    outcomesOf(await service.leads.createLeads({ leads })).map(({ failure }) => failure?.code)
  expect(await codes(items)).toEqual([undefined, 'not_found', 'not_found', undefined])
  expect(await codes([newItem(NOBODY)])).toEqual(['not_found'])
})

test('wrong items of one read fail each on its own', async () => {
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  const { reference } = lead
  const reads = [
    ...WRONG_IDS.map((id) => ({ accountId: id, reference })),
    { accountId, reference: 'no uuid' },
    { accountId, reference: NUL },
    { accountId, reference },
  ]
  expect(
    outcomesOf(await service.leads.retrieveLeads({ leads: reads })).map(({ failure }) => failure?.code),
  ).toEqual([...WRONG_IDS.map(() => WRONG), 'not_found', 'not_found', undefined])

  const pages = [
    ...WRONG_IDS.map((id) => ({ accountId: id, page: 1 })),
    { accountId, page: 0 },
    { accountId, page: 1 },
  ]
  const listed = (await service.leads.listLeads({ pages })).results.map(({ result }) => result!)
  expect(listed.map(({ $case }) => $case)).toEqual([...pages.slice(0, -1).map(() => 'failure'), 'page'])
})

test('a number that JavaScript does not have is refused with its message, and the next message goes on', async () => {
  const huge = { leads: [newItem(accountId), newItem(accountId, leadWith({ userId: HUGE }))] }
  await expect(service.leads.createLeads(huge)).rejects.toMatchObject({ code: 'bad_request' })
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(accountId)] }))
  expect(lead.failure).toBeUndefined()
})

const file = (over: object = {}) => ({
  ...{ name: 'a', fileName: 'a.png', fileSize: 1, contentType: 'image/png', key: randomUUID() },
  ...over,
})

const wrongCalls = (): [string, () => Promise<unknown>][] => {
  const { leads, accounts, attachments } = service
  const reference = randomUUID()
  const update = { accountId, reference, value: undefined, status: undefined, userEmail: undefined }
  const appointment = {
    ...{ accountId, reference, userId: 1, notify: false, date: '2026-03-28T09:30:00Z' },
    idempotency: undefined,
  }
  const attachment = {
    ...{ accountId, reference, file: file(), baseUrl: 'https://a.test', idempotency: undefined },
    claimId: '',
  }
  const change = { ...{ accountId, reference, id: 1, notify: false }, date: undefined, userId: undefined }
  const references = { accountId, leadReference: undefined, userId: undefined, imageIds: [] }
  const token = { accountId, name: 'a', scopes: ['leads'], test: false, expiresAt: undefined }
  return [
    ...WRONG_IDS.flatMap((id): [string, () => Promise<unknown>][] => [
      [`update of ${id}`, () => leads.updateLead({ ...update, accountId: id, notify: false })],
      [
        `appointment of ${id}`,
        () => leads.scheduleAppointment({ appointment: { ...appointment, accountId: id } }),
      ],
      [`callback for ${id}`, () => leads.scheduleCallback({ callback: { ...appointment, userId: id } })],
      [
        `references of ${id}`,
        () => leads.checkReferences({ ...references, accountId: id, userEmail: undefined }),
      ],
      [`attachment of ${id}`, () => attachments.attachFile({ ...attachment, accountId: id })],
      [`attachment ${id}`, () => attachments.retrieveAttachment({ accountId, reference, attachmentId: id })],
      [`image of ${id}`, () => attachments.createImage({ accountId: id, file: file(), alt: undefined })],
      [`claim of ${id}`, () => attachments.claimIdempotencyKey({ tokenId: id, key: 'a' })],
      [`account ${id}`, () => accounts.retrieveAccount({ accountId: id })],
      [`tokens of ${id}`, () => accounts.listTokens({ accountId: id })],
      [`users of ${id}`, () => accounts.listUsers({ accountId: id })],
      [`user ${id}`, () => accounts.retrieveUser({ accountId, userId: id })],
      [`change of account ${id}`, () => accounts.updateAccount({ accountId: id })],
      [`change of user ${id}`, () => accounts.updateUser({ accountId, userId: id })],
      [`removal by ${id}`, () => accounts.removeUser({ accountId: id, userId: 1 })],
      [
        `change of an appointment of ${id}`,
        () => leads.rescheduleAppointment({ change: { ...change, accountId: id } }),
      ],
      [`change of the callback ${id}`, () => leads.rescheduleCallback({ change: { ...change, id } })],
      [
        `change of an appointment for ${id}`,
        () => leads.rescheduleAppointment({ change: { ...change, userId: id } }),
      ],
      [`cancellation of callback ${id}`, () => leads.cancelCallback({ change: { ...change, id } })],
      [`calendar of user ${id}`, () => accounts.createUserCalendar({ accountId, userId: id })],
      [`no calendar of user ${id}`, () => accounts.revokeUserCalendar({ accountId, userId: id })],
      [`entries of ${id}`, () => leads.listCalendarEntries({ accountId, userId: id })],
      [`appointments of ${id}`, () => leads.listAppointments({ accountId: id, reference })],
      [`callbacks before ${id}`, () => leads.listCallbacks({ accountId, reference, before: id })],
      [
        `attachments of ${id}`,
        () => attachments.listAttachments({ accountId: id, reference, baseUrl: 'https://a.test' }),
      ],
      [`history of ${id}`, () => leads.listLeadHistory({ accountId: id, reference })],
      [`history before ${id}`, () => leads.listLeadHistory({ accountId, reference, before: id })],
      [`update by ${id}`, () => leads.updateLead(update, { actor: actor({ tokenId: id }) })],
      [`token ${id}`, () => accounts.revokeToken({ accountId, tokenId: id })],
      [`token of ${id}`, () => accounts.createToken({ ...token, accountId: id })],
      [`user of ${id}`, () => accounts.createUser({ accountId: id, email: 'a@example.test', name: 'a' })],
    ]),
    ['value', () => leads.updateLead({ ...update, value: -1, notify: false })],
    ['status', () => leads.updateLead({ ...update, status: 'no such', notify: false })],
    ['user email', () => leads.updateLead({ ...update, userEmail: NUL, notify: false })],
    ['email of references', () => leads.checkReferences({ ...references, userEmail: NUL })],
    ['no appointment', () => leads.scheduleAppointment({ appointment: undefined })],
    ['no callback', () => leads.scheduleCallback({ callback: undefined })],
    ['no change', () => leads.rescheduleCallback({ change: undefined })],
    ['no cancellation', () => leads.cancelAppointment({ change: undefined })],
    ['another date', () => leads.rescheduleCallback({ change: { ...change, date: 'infinity' } })],
    ['a short hash', () => leads.findCalendar({ hash: Buffer.alloc(31) })],
    ...['', 'infinity', 'now', '2026-13-28T09:30:00Z', '0000-01-01T00:00:00Z', NUL].map(
      (date): [string, () => Promise<unknown>] => [
        `date ${date}`,
        async () => {
          const [lead] = outcomesOf(await leads.createLeads({ leads: [newItem(accountId)] }))
          const { user } = await accounts.createUser({
            ...{ accountId, name: 'a', email: `${randomUUID()}@example.test` },
          })
          return leads.scheduleCallback({
            callback: { ...appointment, reference: lead.reference, userId: user!.id, date },
          })
        },
      ],
    ),
    ['no file', () => attachments.attachFile({ ...attachment, file: undefined })],
    ['an empty file', () => attachments.attachFile({ ...attachment, file: file({ fileSize: 0 }) })],
    ['NUL in a file name', () => attachments.attachFile({ ...attachment, file: file({ fileName: NUL }) })],
    ['no image', () => attachments.createImage({ accountId, file: undefined, alt: undefined })],
    ['NUL in an alt', () => attachments.createImage({ accountId, file: file(), alt: NUL })],
    ['NUL in a claim', () => attachments.claimIdempotencyKey({ tokenId, key: NUL })],
    [
      'claim id that is renewed',
      () => attachments.renewIdempotencyKey({ tokenId, key: 'a', claimId: 'no uuid' }),
    ],
    ['claim id', () => attachments.releaseIdempotencyKey({ tokenId, key: 'a', claimId: 'no uuid' })],
    ['NUL in a name', () => accounts.createAccount({ name: NUL })],
    ['NUL in a scope', () => accounts.createToken({ ...token, scopes: [NUL] })],
    ['no scopes', () => accounts.createToken({ ...token, scopes: [] })],
    ['expiry', () => accounts.createToken({ ...token, expiresAt: 'infinity' })],
    ['NUL in an expiry', () => accounts.createToken({ ...token, expiresAt: NUL })],
    ['NUL in a contact', () => accounts.updateAccount({ accountId, contactEmail: NUL })],
    ['NUL in a new name', () => accounts.updateUser({ accountId, userId: 1, name: NUL })],
    ['NUL in an address', () => attachments.listAttachments({ accountId, reference, baseUrl: NUL })],
    ['NUL in an email', () => accounts.createUser({ accountId, email: 'a\0@example.test', name: 'a' })],
  ]
}

test('wrong arguments of every other call are refused as such', async () => {
  const calls = wrongCalls()
  const codes = await Promise.all(
    calls.map(async ([name, call]) => [
      name,
      await call().then(
        () => 'accepted',
        ({ code }: { code: string }) => code,
      ),
    ]),
  )
  expect(codes).toEqual(calls.map(([name]) => [name, WRONG]))
})

test('what refers to nothing is not found, the same image key twice is refused', async () => {
  const { accounts, attachments } = service
  await expect(accounts.retrieveAccount({ accountId: NOBODY })).rejects.toMatchObject({ code: 'not_found' })
  await expect(
    accounts.createUser({ accountId: NOBODY, email: 'a@example.test', name: 'a' }),
  ).rejects.toMatchObject({ code: 'not_found' })
  await expect(attachments.claimIdempotencyKey({ tokenId: NOBODY, key: 'a' })).rejects.toMatchObject({
    code: 'not_found',
  })
  const stored = { accountId, file: file(), alt: undefined }
  await attachments.createImage(stored)
  await expect(attachments.createImage(stored)).rejects.toMatchObject({ code: WRONG })
  await expect(attachments.createImage({ ...stored, accountId: NOBODY, file: file() })).rejects.toMatchObject(
    { code: WRONG },
  )
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
