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
  const [lead] = readOutcomes(await service.leads.createLeads({ leads: [newItem(account.accountId)] }))
  const file = { name: 'Survey', fileName: 'survey.pdf', fileSize: 1234, contentType: 'application/pdf' }
  const request = () => ({
    accountId: account.accountId,
    reference: lead.reference,
    file: { ...file, key: `attachments/${randomUUID()}.pdf` },
    baseUrl: 'https://api.example.test',
    idempotency: undefined,
  })
  return { ...account, lead, request }
}

const attach = async (request: Parameters<typeof service.attachments.attachFile>[0]) =>
  (await service.attachments.attachFile(request)).body.toString()

test('an attachment is recorded like an image, with a url of its own', async () => {
  const { request, lead, accountId } = await scene()
  const asked = request()
  const { data } = JSON.parse(await attach(asked))
  expect(Object.entries(data)).toEqual(
    Object.entries({
      id: expect.any(Number),
      name: 'Survey',
      file_name: 'survey.pdf',
      file_size: 1234,
      content_type: 'application/pdf',
      alt: null,
      public: 0,
      processed: 1,
      created_at: expect.any(String),
      updated_at: data.created_at,
      url: `https://api.example.test/leads/${lead.reference}/attachments/${data.id}`,
    }),
  )
  const found = await service.attachments.retrieveAttachment({
    accountId,
    reference: lead.reference,
    attachmentId: data.id,
  })
  expect(found.file).toEqual(asked.file)
})

test('another account, another lead or another id finds no attachment', async () => {
  const [{ request, lead, accountId }, other] = [await scene(), await scene()]
  const { id } = JSON.parse(await attach(request())).data
  const wrong = [
    { accountId: other.accountId, reference: lead.reference, attachmentId: id },
    { accountId, reference: other.lead.reference, attachmentId: id },
    { accountId, reference: lead.reference, attachmentId: id + 1000 },
    { accountId, reference: 'statuses', attachmentId: id },
  ]
  for (const asked of wrong) {
    await expect(service.attachments.retrieveAttachment(asked)).rejects.toMatchObject({ code: 'not_found' })
  }
  await expect(attach({ ...request(), accountId: other.accountId })).rejects.toMatchObject({
    code: 'not_found',
  })
})

const countAttachments = async (accountId: number) => {
  const [row] = await service.db.query<{ count: number }>({
    text: 'SELECT count(*)::int AS count FROM attachments WHERE account_id = $1',
    values: [accountId],
  })
  return row!.count
}

test('of uploads at once under one key one is recorded; the others get its response, or a conflict', async () => {
  const { request, tokenId, accountId } = await scene()
  const idempotency = { tokenId, key: 'upload', fingerprint: Buffer.alloc(32, 7) }
  const uploads = Array.from({ length: 10 }, () => attach({ ...request(), idempotency }))
  const results = await Promise.allSettled(uploads)
  const bodies = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []))
  expect(new Set(bodies).size).toBe(1)
  expect(errors.filter((code) => code !== 'conflict')).toEqual([])
  expect(await countAttachments(accountId)).toBe(1)
  const later = await service.attachments.attachFile({ ...request(), idempotency })
  expect([later.body.toString(), later.replayed]).toEqual([bodies[0], true])
  const another = { ...idempotency, fingerprint: Buffer.alloc(32, 8) }
  await expect(attach({ ...request(), idempotency: another })).rejects.toMatchObject({ code: 'invalid' })
})

test('an upload that is refused leaves its key free', async () => {
  const { request, tokenId } = await scene()
  const idempotency = { tokenId, key: 'refused', fingerprint: Buffer.alloc(32, 7) }
  const wrong = { ...request(), reference: randomUUID(), idempotency }
  await expect(attach(wrong)).rejects.toMatchObject({ code: 'not_found' })
  const { replayed } = await service.attachments.attachFile({ ...request(), idempotency })
  expect(replayed).toBe(false)
})
