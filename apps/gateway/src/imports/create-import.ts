import { PassThrough, Readable } from 'node:stream'
import type { UploadedFile } from '@leadwire/contracts'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { type AddOperation, type Call, operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { charsetOf } from '../body/body'
import { recordUploadOnce, type SaveUnder } from '../files/record-upload-once'
import { visitorOf } from '../leads/lead-fields'
import { describe, partial } from '../validation/fields'
import { IMPORT_TYPES, ImportRecord } from './imports'
import { utf8Text } from './rows/utf8-text'

const Query = partial({
  webhooks: Type.Boolean(describe('Whether Lead Created is sent for each lead. By default false.', false)),
})

type ImportType = keyof typeof IMPORT_TYPES

/** Streams the body to files-service as it arrives. Throws too_large, invalid, or a 408 for a client that is too slow. */
const receiveBody = (
  { request, reply, clients, dependencies }: Call<unknown>,
  terms: { max_bytes: number; keep: boolean; sha256: boolean },
): Promise<UploadedFile> => {
  const { body, headers } = request
  const { max_bytes: maxBytes } = terms
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw new ServiceError('too_large', `The file may not be larger than ${maxBytes} bytes.`)
  return dependencies.receiveUpload(reply, async (signal) => {
    // A failed upload destroys the stream that it reads. Destroying the request's own would close the connection.
    const given = (body as Readable).pipe(new PassThrough())
    const text = utf8Text(given, charsetOf(headers['content-type']!))
    const bytes = Readable.from(text, { objectMode: false })
    const asked = { collection: 'imports', file_name: 'import.txt', formats: 'txt', detect: false, ...terms }
    return clients.files.upload(asked, bytes, signal)
  })
}

/** Stores a file of leads, which the import worker creates afterwards. `app` is a scope that reads these media types alone. */
export const createImport: AddOperation = (app, dependencies, operationId) => {
  const { importMaxBytes } = dependencies
  app.addHook('onResponse', async () => dependencies.wakeImports())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(Object.keys(IMPORT_TYPES), (_request, payload, done) => done(null, payload))
  operation({
    route: 'POST /manage/imports',
    summary: 'Import leads',
    description:
      'Takes a file of leads, and creates them afterwards, in the order of the file. Each row has the fields of POST /manage/leads, or those of an export: a line of JSON, or a row of CSV below a header with the names of the fields in any spelling, `quotes` and `attributes` as JSON in a cell, or an attribute in a column such as `attributes.utm_source`. A row with an `external_id` changes the lead that has it, if there is one, as PUT /manage/leads/external does: an empty cell clears, a column that is not there leaves what is. Cells are separated by commas, semicolons, tabs or bars. Text is UTF-8, UTF-16 with a byte order mark, or with `charset=windows-1252` Windows-1252. A row that is refused is listed among the faults, and the others are created all the same.',
    idempotent: true,
    query: Query,
    stream: Object.keys(IMPORT_TYPES),
    bodyLimit: importMaxBytes,
    answer: { status: 202, ...dataOf(ImportRecord, 'The import, which is queued.') },
    handler: async (call) => {
      const { request, reply, accountId, clients, limits } = call
      const { webhooks = false } = await call.valid()
      if (!request.body) throw ServiceError.invalid({ file: ['The file must not be empty.'] })
      const mediaType = request.headers['content-type']!.split(';')[0]!.trim().toLowerCase()
      const format = IMPORT_TYPES[mediaType as ImportType]
      reply.code(202)
      return recordUploadOnce(call, async (terms) => {
        const upload = await receiveBody(call, { max_bytes: importMaxBytes, ...terms })
        const { key, size: fileSize, sha256: file } = upload
        const asked = { accountId, format, webhooks, visitor: visitorOf(request), key, fileSize }
        const record = (saveUnder: SaveUnder) =>
          // Without the deadline: the upload took its time.
          clients.imports.createImport({ ...asked, ...saveUnder }, { actor: limits.actor })
        return { upload, content: { format, webhooks, file }, record }
      })
    },
  })(app, dependencies, operationId)
}
