import { PassThrough, Readable } from 'node:stream'
import type { ClaimIdempotencyKeyResponse, UploadedFile } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { type Static, Type } from '@sinclair/typebox'
import type { FastifyInstance } from 'fastify'
import { holdKey, savedAnswer } from '../attachments/hold-key'
import { keepStoredFile } from '../attachments/keep-stored-file'
import type { Dependencies } from '../dependencies'
import { dataOf } from '../docs/shared-schemas'
import { charsetOf } from '../http/body'
import { idempotencyKey, replayable, requestFingerprints } from '../http/idempotency'
import { visitorOf } from '../leads/lead-fields'
import { type Call, operation } from '../operation'
import { notes } from '../validation/fields'
import { IMPORT_TYPES, ImportRecord } from './import-schema'
import { utf8Text } from './utf8-text'

const Query = Type.Object({
  webhooks: Type.Optional(
    Type.Boolean(notes('Whether Lead Created is sent for each lead. By default false.', false)),
  ),
})

type ImportType = keyof typeof IMPORT_TYPES

/** Streams the body on to files-service while it comes. Throws too_large, invalid, or a 408 for a client that is too slow. */
const receiveBody = (
  { request, reply, clients, uploads }: Call<unknown>,
  terms: { max_bytes: number; keep: boolean; sha256: boolean },
): Promise<UploadedFile> => {
  const { body, headers } = request
  const { max_bytes: maxBytes } = terms
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw new ServiceError('too_large', `The file may not be larger than ${maxBytes} bytes.`)
  return uploads(request, reply, async (signal) => {
    // What fails destroys the stream that it reads: the request's own would take the connection with it.
    const given = (body as Readable).pipe(new PassThrough())
    const text = utf8Text(given, charsetOf(headers['content-type']!))
    const bytes = Readable.from(text, { objectMode: false })
    const asked = { collection: 'imports', file_name: 'import.txt', formats: 'txt', detect: false, ...terms }
    try {
      return await clients.files.upload(asked, bytes, signal)
    } catch (error) {
      throw signal.aborted ? signal.reason : error
    }
  })
}

const takeImport = async (
  call: Call<Static<typeof Query>>,
  webhooks: boolean,
  maxBytes: number,
  claim?: ClaimIdempotencyKeyResponse,
) => {
  const { request, accountId, clients, limits } = call
  const format =
    IMPORT_TYPES[request.headers['content-type']!.split(';')[0]!.trim().toLowerCase() as ImportType]
  const terms = { max_bytes: maxBytes, keep: !claim?.saved, sha256: claim !== undefined }
  const { key, size, sha256 } = await receiveBody(call, terms)
  const fingerprints = requestFingerprints(request, { format, webhooks, file: sha256 })
  const replay = claim && savedAnswer(claim, fingerprints)
  if (replay) return replayable(call.reply, { body: replay, replayed: true })
  const { tokenId } = request.principal
  const idempotency = claim ? { tokenId, key: idempotencyKey(request)!, ...fingerprints } : undefined
  const asked = { accountId, format, webhooks, visitor: visitorOf(request), key, fileSize: size }
  const created = await keepStoredFile(call, key, () =>
    // Without the deadline: the upload took its time.
    clients.imports.createImport(
      { ...asked, idempotency, claimId: claim?.claimId ?? '' },
      { actor: limits.actor },
    ),
  )
  return replayable(call.reply, created)
}

/** POST /manage/imports: takes a file of leads in, to be worked on later. Stands in a scope that reads these types alone. */
export const createImport = (app: FastifyInstance, dependencies: Dependencies): void => {
  const { importMaxBytes } = dependencies
  app.addHook('onResponse', async () => dependencies.wakeImports())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(Object.keys(IMPORT_TYPES), (_request, payload, done) => done(null, payload))
  operation({
    method: 'POST',
    url: '/manage/imports',
    operationId: 'createImport',
    tag: 'Management',
    summary: 'Import leads',
    description:
      'Takes a file of leads, and creates them afterwards, in the order of the file. Each row has the fields of POST /manage/leads, or those of an export: a line of JSON, or a row of CSV below a header with the names of the fields in any spelling, `quotes` as JSON in a cell. Cells are separated by commas, semicolons, tabs or bars. Text is UTF-8, UTF-16 with a byte order mark, or with `charset=windows-1252` Windows-1252. A row that is refused is listed among the faults, and the others are created all the same.',
    scope: 'manage',
    idempotent: true,
    query: Query,
    checks: Query,
    stream: Object.keys(IMPORT_TYPES),
    bodyLimit: importMaxBytes,
    answer: {
      status: 202,
      description: 'The import, which waits for its turn.',
      schema: dataOf(ImportRecord),
    },
    handler: async (call) => {
      const { request, reply, check } = call
      const { value, faults } = check()
      if (faults) throw ServiceError.invalid(faults)
      if (!request.body) throw ServiceError.invalid({ file: ['The file must not be empty.'] })
      const { webhooks = false } = value
      const { tokenId } = request.principal
      const key = idempotencyKey(request)
      reply.code(202)
      if (key === undefined) return takeImport(call, webhooks, importMaxBytes)
      return holdKey(call, { tokenId, key }, (claim) => takeImport(call, webhooks, importMaxBytes, claim))
    },
  })(app, dependencies)
}
