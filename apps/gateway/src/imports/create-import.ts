import { PassThrough, Readable } from 'node:stream'
import type { Idempotency, UploadedFile } from '@leadwire/contracts'
import { describe, partial, text } from '@leadwire/requests'
import { ServiceError } from '@leadwire/service-kit'
import { Type } from '@sinclair/typebox'
import { type AddOperation, type Call, operation } from '../api/operation'
import { recordResponse } from '../api/schemas'
import { findFormat, IMPORT_TYPES, READ_TYPES } from '../body/import-types'
import { findCharset } from '../body/parse-body'
import { recordUpload } from '../files/record-upload'
import { readVisitor } from '../leads/create-lead'
import { ImportRecord } from './imports'
import { utf8Text } from './rows/utf8-text'

const Query = partial({
  file_name: text('The name of the file, which the record of the import shows.', 'leads.csv'),
  webhooks: Type.Boolean(
    describe(
      'Whether the import sends `lead.created` for each new lead, and `lead.updated` for each updated lead. Default false.',
      false,
    ),
  ),
})

/**
 * Streams the body to files-service as the body arrives. Throws `too_large` if the body exceeds `max_bytes`,
 * `invalid` if the body is not a valid text, and `timeout` (408) if the client is too slow.
 */
const receiveBody = (
  { request, reply, clients, dependencies }: Call<unknown>,
  terms: { max_bytes: number; sha256: boolean },
): Promise<UploadedFile> => {
  const { body, headers } = request
  const { max_bytes: maxBytes } = terms
  if (Number(headers['content-length'] ?? 0) > maxBytes)
    throw new ServiceError('too_large', `The file may not be larger than ${maxBytes} bytes.`)
  return dependencies.receiveUpload(reply, async ({ signal, takePlace }) => {
    await takePlace()
    // Reads the request through a separate stream, because a failed upload destroys the stream that it reads.
    // Destroying the request itself would close the connection.
    const given = (body as Readable).pipe(new PassThrough())
    const text = utf8Text(given, findCharset(headers['content-type']!))
    const bytes = Readable.from(text, { objectMode: false })
    const asked = { collection: 'imports', file_name: 'import.txt', formats: 'txt', detect: false, ...terms }
    return clients.files.upload(asked, bytes, signal)
  })
}

/**
 * Adds the operation that stores a file of leads. The import worker creates the leads later. `app` must be a
 * separate scope, because this function removes the parsers of `app` for all other media types.
 */
export const createImport: AddOperation = (app, dependencies, operationId) => {
  const { importMaxBytes } = dependencies
  app.addHook('onResponse', async () => dependencies.wakeImports())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(READ_TYPES, (_request, payload, done) => done(null, payload))
  operation({
    route: 'POST /manage/imports',
    summary: 'Import leads',
    description:
      'Stores a file of leads. The leads are created later, in the order of the file. A file is NDJSON, or CSV with field names in the header. Case, spaces and punctuation in these names do not matter. Each row has the fields of POST /manage/leads. A row of a new lead may also have `created_at`, a time in the past. The rows of an export are valid too. In CSV, `quotes` and `attributes` are JSON in a cell, and a column such as `attributes.utm_source` holds one attribute. If a lead with the `external_id` of a row exists, the row updates this lead, like PUT /manage/leads/external: an empty cell clears the field, and a missing column keeps the stored value. Cells are separated by commas, semicolons, tabs or bars. Other Content-Types of the two formats are accepted too, such as `text/tab-separated-values` and `application/vnd.ms-excel` for CSV, and `application/jsonl` for NDJSON. The text is UTF-8, UTF-16 with a byte order mark, or in the charset of the Content-Type, such as `charset=windows-1252`. Refused rows are listed by GET /manage/imports/{id}/errors. All other rows are still imported.',
    idempotent: true,
    query: Query,
    stream: Object.keys(IMPORT_TYPES),
    bodyLimit: importMaxBytes,
    answer: { status: 202, ...recordResponse(ImportRecord, 'The queued import.') },
    handler: async (call) => {
      const { request, reply, accountId, clients, limits } = call
      const { file_name: fileName, webhooks = false } = await call.valid()
      if (!request.body) throw ServiceError.invalid({ file: ['The file must not be empty.'] })
      const format = findFormat(request.headers['content-type']!)!
      reply.code(202)
      return recordUpload(call, async (terms) => {
        const upload = await receiveBody(call, { max_bytes: importMaxBytes, ...terms })
        const { key, size: fileSize, sha256: file } = upload
        const content = { format, webhooks, file, file_name: fileName }
        const visitor = readVisitor(request)
        const asked = { accountId, format, webhooks, visitor, key, fileSize, fileName }
        const record = (idempotency: Idempotency | undefined) =>
          // Gives the call no deadline, because the upload may have taken long.
          clients.imports.createImport({ ...asked, idempotency }, { actor: limits.actor })
        return { upload, content, record }
      })
    },
  })(app, dependencies, operationId)
}
