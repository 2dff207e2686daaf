import { enumeration, readPlaceId } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { listOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { described, nullableScalar, nullableTimestamp, recordResponse, timestamp } from '../api/schemas'
import { IMPORT_TYPES } from '../body/import-types'

const IgnoredColumn = described('IgnoredColumn', 'A CSV column or a JSON key that matches no field.', {
  name: Type.String({ examples: ['Mobile Number'] }),
  did_you_mean: nullableScalar(
    'string',
    'The field with the most similar name. To import the column, rename the column to this field. null if no field has a similar name.',
    'mobile',
  ),
})

export const ImportRecord = described('Import', 'An import of a file of leads, with its progress.', {
  id: Type.Integer({ examples: [1] }),
  state: enumeration(['queued', 'running', 'finished', 'failed', 'cancelled'], undefined, 'running'),
  format: enumeration(Object.values(IMPORT_TYPES), undefined, 'csv'),
  file_name: nullableScalar(
    'string',
    'Name of the file. null if the request had no `file_name`.',
    'leads.csv',
  ),
  webhooks: Type.Boolean({
    description:
      'Whether the import sends `lead.created` for each new lead, and `lead.updated` for each updated lead.',
    examples: [false],
  }),
  file_size: Type.Integer({ description: 'Size of the file in bytes.', examples: [180_000] }),
  bytes_read: Type.Integer({ description: 'Number of bytes that were processed.', examples: [90_000] }),
  rows_read: Type.Integer({
    description: 'Number of rows that were processed, without the header.',
    examples: [500],
  }),
  rows_created: Type.Integer({
    description:
      'Number of processed rows (`rows_read`) that created a lead, or updated a lead by its `external_id`.',
    examples: [498],
  }),
  rows_failed: Type.Integer({
    description: 'Number of processed rows (`rows_read`) that were refused.',
    examples: [2],
  }),
  ignored_columns: Type.Array(IgnoredColumn, {
    description:
      'CSV columns or JSON keys that match no field of a lead and are not imported. At most the first 100.',
  }),
  failure: nullableScalar('string', 'The reason that the import failed. null unless the state is `failed`.'),
  created_at: timestamp('When the file was sent.'),
  finished_at: nullableTimestamp('When the import finished, failed or was cancelled. null until then.'),
})

const ImportError = described('ImportError', 'A refused row of an import.', {
  row: Type.Integer({
    description: 'Number of the row. The first row of the file, not counting the header, is row 1.',
    examples: [17],
  }),
  errors: Type.Record(Type.String(), Type.Array(Type.String()), {
    description:
      'Error messages of each invalid field, as in the `errors` of a problem. The key `row` has the errors of the row as a whole.',
    examples: [{ email: ['The email must be a valid email address.'] }],
  }),
  values: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'The row as it was sent: the cell of each column, or the JSON of the line. A cell without a column has a name such as `column 5`. Empty if the row is not stored, has more than 16 KiB together with the names of its columns, or is not a JSON object.',
    examples: [{ first_name: 'Ada', email: 'ada@' }],
  }),
})

export const listImports = listOperation({
  route: 'GET /manage/imports',
  summary: 'List imports',
  description:
    'Returns imports, newest first, up to 100 per response. Pass `next_cursor` as `cursor` to get the next imports.',
  record: ImportRecord,
  answer: 'The newest imports, or the imports after the cursor.',
  find: async ({ accountId, clients, limits }, _filters, cursor) =>
    clients.imports.listImports({ accountId, before: readPlaceId(cursor) }, limits),
})

export const retrieveImport = operation({
  route: 'GET /manage/imports/:id',
  summary: 'Retrieve an import',
  description: 'Returns an import with its progress. An import is deleted 30 days after its end.',
  answer: recordResponse(ImportRecord, 'The import.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.retrieveImport({ accountId, importId: pathId() }, limits)).body,
})

export const cancelImport = operation({
  route: 'POST /manage/imports/:id/cancel',
  summary: 'Cancel an import',
  description:
    'Cancels an import. Leads that were already created remain. An import that has ended does not change.',
  answer: recordResponse(ImportRecord, 'The import after the request.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.cancelImport({ accountId, importId: pathId() }, limits)).body,
})

export const listImportErrors = listOperation({
  route: 'GET /manage/imports/:id/errors',
  summary: 'List the refused rows of an import',
  description:
    'Returns the refused rows with their errors, in the order of the file, up to 100 per response. The first 10,000 refused rows are stored; `rows_failed` counts all refused rows. Pass `next_cursor` as `cursor` to get the next rows. Erasing any lead of the account empties `values` of all rows.',
  record: ImportError,
  cursor: 'The `next_cursor` of the previous response. Omit it for the first refused rows.',
  answer: 'The first refused rows, or the rows after the cursor.',
  find: async ({ pathId, accountId, clients, limits }, _filters, cursor) =>
    clients.imports.listImportErrors({ accountId, importId: pathId(), after: readPlaceId(cursor) }, limits),
})
