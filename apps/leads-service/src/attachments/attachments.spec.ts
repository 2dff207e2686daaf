import { randomUUID } from 'node:crypto'
import {
  newAccount,
  newItem,
  outcomesOf,
  type RunningLeadsService,
  startLeadsService,
} from '../leads-service.fixture'

let service: RunningLeadsService

beforeAll(async () => {
  service = await startLeadsService()
})
afterAll(() => service.stop())

const scene = async () => {
  const account = await newAccount(service)
  const [lead] = outcomesOf(await service.leads.createLeads({ leads: [newItem(account.accountId)] }))
  const file = { name: 'Survey', fileName: 'survey.pdf', fileSize: 1234, contentType: 'application/pdf' }
  const request = () => ({
    accountId: account.accountId,
    reference: lead.reference,
    file: { ...file, key: `attachments/${randomUUID()}.pdf` },
    baseUrl: 'https://api.example.test',
    idempotency: undefined,
    claimId: '',
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

test('a claimed key keeps others out until it is answered, and is then replayed', async () => {
  const { request, tokenId } = await scene()
  const key = { tokenId, key: 'upload' }
  const { claimId } = await service.attachments.claimIdempotencyKey(key)
  await expect(service.attachments.claimIdempotencyKey(key)).rejects.toMatchObject({ code: 'conflict' })
  const idempotency = { ...key, fingerprint: Buffer.alloc(32, 7) }
  await expect(attach({ ...request(), idempotency, claimId: randomUUID() })).rejects.toMatchObject({
    code: 'conflict',
  })
  const body = await attach({ ...request(), idempotency, claimId })
  const { saved } = await service.attachments.claimIdempotencyKey(key)
  expect(saved).toEqual({ fingerprint: idempotency.fingerprint, body: Buffer.from(body) })
})

test('a claim lasts while it is renewed, and one that ran out takes nothing from the next', async () => {
  const { request, tokenId } = await scene()
  const key = { tokenId, key: 'renewed' }
  const endNow = () =>
    service.db.query({
      text: `UPDATE idempotency_keys SET claimed_until = clock_timestamp() WHERE key = 'renewed'`,
    })
  const { claimId } = await service.attachments.claimIdempotencyKey(key)
  await endNow()
  await service.attachments.renewIdempotencyKey({ ...key, claimId })
  await expect(service.attachments.claimIdempotencyKey(key)).rejects.toMatchObject({ code: 'conflict' })
  await endNow()
  const next = await service.attachments.claimIdempotencyKey(key)
  await service.attachments.renewIdempotencyKey({ ...key, claimId })
  const idempotency = { ...key, fingerprint: Buffer.from('a') }
  await expect(attach({ ...request(), idempotency, claimId })).rejects.toMatchObject({ code: 'conflict' })
  await attach({ ...request(), idempotency, claimId: next.claimId })
})

test('a released key, and one whose claim ran out, can be claimed again', async () => {
  const { tokenId } = await scene()
  const key = { tokenId, key: 'again' }
  const { claimId } = await service.attachments.claimIdempotencyKey(key)
  await service.attachments.releaseIdempotencyKey({ ...key, claimId })
  const second = await service.attachments.claimIdempotencyKey(key)
  expect(second.claimId).not.toBe('')
  await service.db.query({
    text: `UPDATE idempotency_keys SET claimed_until = clock_timestamp() WHERE claim_id IS NOT NULL`,
  })
  const third = await service.attachments.claimIdempotencyKey(key)
  expect(third.claimId).not.toBe(second.claimId)
  await service.attachments.releaseIdempotencyKey({ ...key, claimId: second.claimId })
  await expect(service.attachments.claimIdempotencyKey(key)).rejects.toMatchObject({ code: 'conflict' })
})
