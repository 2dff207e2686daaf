import { Type } from '@sinclair/typebox'
import { listOperation } from '../api/list-operation'
import { operation } from '../api/operation'
import { dataOf, described, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'
import { idOf } from '../validation/cursor'
import { oneOf } from '../validation/fields'

export const IMPORT_TYPES = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const

export const ImportRecord = described('Import', 'A file of leads, and how far it is.', {
  id: Type.Integer({ examples: [1] }),
  state: oneOf(['queued', 'running', 'finished', 'failed', 'cancelled'], undefined, 'running'),
  format: oneOf(Object.values(IMPORT_TYPES), undefined, 'csv'),
  webhooks: Type.Boolean({ description: 'Whether Lead Created is sent for each lead.', examples: [false] }),
  file_size: Type.Integer({ description: 'Bytes of the file.', examples: [180_000] }),
  bytes_read: Type.Integer({ description: 'How many of them are done.', examples: [90_000] }),
  rows_read: Type.Integer({ description: 'Rows done, without the header.', examples: [500] }),
  rows_created: Type.Integer({
    description: 'Of these, leads created, or changed by their external id.',
    examples: [498],
  }),
  rows_failed: Type.Integer({ description: 'Of these, rows refused.', examples: [2] }),
  failure: nullableOf('string', 'With the state `failed`: why no more rows could be read.'),
  created_at: timestamp('When it was sent.'),
  finished_at: nullableTimestamp('When it ended, in whatever way.'),
})

const ImportFault = described('ImportFault', 'A row of an import that was refused.', {
  row: Type.Integer({ description: 'From 1: the first row below the header.', examples: [17] }),
  errors: Type.Record(Type.String(), Type.Array(Type.String()), {
    description:
      'Invalid fields, as in the `errors` of a problem; under `row` what is wrong with it as a whole.',
    examples: [{ email: ['The email must be a valid email address.'] }],
  }),
})

export const listImports = listOperation({
  route: 'GET /manage/imports',
  summary: 'List imports',
  description:
    'Newest first. At most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: ImportRecord,
  answer: 'The first, or those that follow the cursor.',
  find: async ({ accountId, clients, limits }, _filters, cursor) =>
    clients.imports.listImports({ accountId, before: idOf(cursor) }, limits),
})

export const retrieveImport = operation({
  route: 'GET /manage/imports/:id',
  summary: 'Retrieve an import',
  description: 'How far it is. An import that ended 30 days ago is deleted.',
  answer: dataOf(ImportRecord, 'The import.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.retrieveImport({ accountId, importId: pathId() }, limits)).body,
})

export const cancelImport = operation({
  route: 'POST /manage/imports/:id/cancel',
  summary: 'Cancel an import',
  description: 'Leads that were created stay. An import that has ended stays as it is.',
  answer: dataOf(ImportRecord, 'The import as it is now.'),
  handler: async ({ pathId, accountId, clients, limits }) =>
    (await clients.imports.cancelImport({ accountId, importId: pathId() }, limits)).body,
})

export const listImportFaults = listOperation({
  route: 'GET /manage/imports/:id/faults',
  summary: 'List the rows of an import that were refused',
  description:
    'In the order of the file. The first 10,000 are kept, and `rows_failed` counts all. At most 100 in an answer. The `next_cursor` of an answer asks for those that follow.',
  record: ImportFault,
  answer: 'The first, or those that follow the cursor.',
  find: async ({ pathId, accountId, clients, limits }, _filters, cursor) =>
    clients.imports.listImportFaults({ accountId, importId: pathId(), after: idOf(cursor) }, limits),
})
