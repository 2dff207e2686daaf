import { type ClaimIdempotencyKeyResponse, FILE_FORMATS } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type Static, Type } from '@sinclair/typebox'
import type { Dependencies } from '../dependencies'
import { dataOf, LeadParams } from '../docs/shared-schemas'
import { idempotencyKey, replayable, requestFingerprint } from '../http/idempotency'
import { leadReference } from '../leads/lead-reference'
import { Image } from '../leads/lead-schema'
import { type Call, operation } from '../operation'
import { text } from '../validation/fields'
import { keepStoredFile } from './keep-stored-file'
import { receiveFile } from './receive-file'

const FORMATS = Object.keys(FILE_FORMATS)

const AttachFields = Type.Object({
  name: text('Name of the file.', 'Survey of the house'),
})

const AttachForm = Type.Object(
  {
    ...AttachFields.properties,
    file: Type.Unsafe({
      type: 'string',
      format: 'binary',
      description: `The file, at most 10 MiB (10,485,760 bytes): ${FORMATS.join(', ')}.`,
    }),
  },
  { title: 'AttachFileRequest' },
)

const savedAnswer = ({ saved }: ClaimIdempotencyKeyResponse, fingerprint: Buffer) => {
  if (!saved || fingerprint.equals(saved.fingerprint)) return saved?.body
  // In the words of leads-service, which says so of every other operation.
  throw ServiceError.invalid({
    idempotency_key: ['This Idempotency-Key was used before for another request.'],
  })
}

const attach = async (
  call: Call<Static<typeof AttachFields>>,
  reference: string,
  claim?: ClaimIdempotencyKeyResponse,
) => {
  const { request, clients, addressOf } = call
  const { accountId, tokenId } = request.principal
  const { fields, fileName, upload } = await receiveFile(call, {
    collection: 'attachments',
    formats: FORMATS.join(),
    keep: !claim?.saved,
    // For the request's fingerprint.
    sha256: claim !== undefined,
  })
  const { name } = fields
  const fingerprint = requestFingerprint(request, { name, file_name: fileName, file: upload.sha256 })
  const replay = claim && savedAnswer(claim, fingerprint)
  if (replay) return replayable(call.reply, { body: replay, replayed: true })
  const { key, size, content_type: contentType } = upload
  const answer = await keepStoredFile(call, key, () =>
    clients.attachments.attachFile({
      accountId,
      reference,
      file: { name, fileName, fileSize: size, contentType, key },
      baseUrl: addressOf(request),
      idempotency: claim ? { tokenId, key: idempotencyKey(request)!, fingerprint } : undefined,
      claimId: claim?.claimId ?? '',
    }),
  )
  return replayable(call.reply, answer)
}

/** Runs `work` while no other request has its Idempotency-Key. */
const underKey = async <T>(
  { clients, logger }: Pick<Dependencies, 'clients' | 'logger'>,
  key: { tokenId: number; key: string },
  work: (claim: ClaimIdempotencyKeyResponse) => Promise<T>,
): Promise<T> => {
  const claim = await clients.attachments.claimIdempotencyKey(key)
  try {
    return await work(claim)
  } catch (error) {
    // Failures are not saved: the key is free for the next try.
    if (!claim.saved) {
      await clients.attachments
        .releaseIdempotencyKey({ ...key, claimId: claim.claimId })
        .catch((err: unknown) => logger.warn({ err }, 'could not release an idempotency key'))
    }
    throw error
  }
}

/** POST /leads/:reference/attachments (interface: Attach a file). */
export const attachFile = operation({
  method: 'POST',
  url: '/leads/:reference/attachments',
  operationId: 'attachFile',
  tag: 'Attachments',
  summary: 'Attach a file',
  description:
    'The type of a file is told from its content, and its name must have an extension of that type.',
  scope: 'leads',
  params: LeadParams,
  idempotent: true,
  multipart: AttachForm,
  checks: AttachFields,
  answer: {
    description: 'The attachment. Its url needs a bearer token.',
    schema: dataOf(Image),
  },
  handler: async (call) => {
    const { request, accountId, clients } = call
    const reference = leadReference(request)
    const key = idempotencyKey(request)
    const { leadMissing } = await clients.leads.checkReferences({ accountId, leadReference: reference })
    if (leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
    if (key === undefined) return attach(call, reference)
    const { tokenId } = request.principal
    return underKey(call, { tokenId, key }, (claim) => attach(call, reference, claim))
  },
})
