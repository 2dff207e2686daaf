import type { ClaimIdempotencyKeyResponse, StoredFile } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Dependencies } from '../dependencies'
import { describe } from '../docs/describe'
import { dataOf, IdempotencyHeader, LeadParams } from '../docs/shared-schemas'
import { idempotencyKey, requestFingerprint } from '../http/idempotency'
import { sendJson } from '../http/send-json'
import { leadReference } from '../leads/lead-reference'
import { text } from '../validation/fields'
import { textFaults } from '../validation/text-faults'
import { keepStoredFile } from './keep-stored-file'
import { type ReceivedFile, receiveFile } from './receive-file'

const FORMATS = ['jpeg', 'png', 'gif', 'svg', 'pdf', 'txt', 'xlsx', 'docx'] as const

const AttachFields = Type.Object({
  name: text({ description: 'Name of the file.', examples: ['Survey of the house'] }),
})

const AttachForm = Type.Object({
  ...AttachFields.properties,
  file: Type.Unsafe({
    type: 'string',
    format: 'binary',
    description: `The file, at most 10 MiB (10,485,760 bytes): ${FORMATS.join(', ')}.`,
  }),
})

const saved = (claim: ClaimIdempotencyKeyResponse | undefined, fingerprint: Buffer) => {
  if (!claim?.saved) return undefined
  if (fingerprint.equals(claim.saved.fingerprint)) return claim.saved.body
  // In the words of leads-service, which says so of every other operation.
  throw ServiceError.invalid({
    idempotency_key: ['This Idempotency-Key was used before for another request.'],
  })
}

const fingerprintOf = (request: FastifyRequest, name: string, { fileName, upload }: ReceivedFile) =>
  requestFingerprint(request, { name, file_name: fileName, file: upload.sha256 })

/** POST /leads/:reference/attachments (interface: Attach a file). */
export const attachFile = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { authenticate, clients, validation, addressOf } = dependencies
  const check = validation.checker(AttachFields)
  const checkFields = (fields: Record<string, unknown>) => check({ fields, faults: textFaults(fields) })

  const attach = async (
    request: FastifyRequest,
    reply: FastifyReply,
    reference: string,
    claim?: ClaimIdempotencyKeyResponse,
  ) => {
    const { accountId, tokenId } = request.principal
    const received = await receiveFile(request, reply, dependencies, {
      collection: 'attachments',
      formats: FORMATS,
      keep: !claim?.saved,
      // For the request's fingerprint.
      wantsSha256: claim !== undefined,
      faultsOf: (fields) => checkFields(fields).faults ?? {},
    })
    const { name } = checkFields(received.fields).value!
    const fingerprint = fingerprintOf(request, name, received)
    const replay = saved(claim, fingerprint)
    if (replay) return replay
    const { key, size, content_type: contentType } = received.upload
    const file: StoredFile = { name, fileName: received.fileName, fileSize: size, contentType, key }
    const { body } = await keepStoredFile(dependencies, key, () =>
      clients.attachments.attachFile({
        accountId,
        reference,
        file,
        baseUrl: addressOf(request),
        idempotency: claim ? { tokenId, key: idempotencyKey(request)!, fingerprint } : undefined,
        claimId: claim?.claimId ?? '',
      }),
    )
    return body
  }

  const underKey = async (request: FastifyRequest, reply: FastifyReply, reference: string, key: string) => {
    const { tokenId } = request.principal
    const claim = await clients.attachments.claimIdempotencyKey({ tokenId, key })
    try {
      return await attach(request, reply, reference, claim)
    } catch (error) {
      // Failures are not saved: the key is free for the next try.
      if (!claim.saved) {
        await clients.attachments
          .releaseIdempotencyKey({ tokenId, key, claimId: claim.claimId })
          .catch((err: unknown) => dependencies.logger.warn({ err }, 'could not release an idempotency key'))
      }
      throw error
    }
  }

  app.post(
    '/leads/:reference/attachments',
    {
      onRequest: authenticate('leads'),
      schema: describe({
        operationId: 'attachFile',
        tag: 'Attachments',
        summary: 'Attach a file',
        description:
          'The type of a file is told from its content, and its name must have an extension of that type.',
        scope: 'leads',
        params: LeadParams,
        headers: IdempotencyHeader,
        multipart: AttachForm,
        answer: {
          description: 'The attachment. Its url needs a bearer token.',
          schema: dataOf({ $ref: 'Image#' }),
        },
        problems: ['not-found', 'timeout', 'conflict'],
      }),
    },
    async (request, reply) => {
      const reference = leadReference(request)
      const key = idempotencyKey(request)
      const { leadMissing } = await clients.leads.checkReferences({
        accountId: request.principal.accountId,
        leadReference: reference,
      })
      if (leadMissing) throw new ServiceError('not_found', 'There is no such lead.')
      return sendJson(
        reply,
        key === undefined
          ? await attach(request, reply, reference)
          : await underKey(request, reply, reference, key),
      )
    },
  )
}
