import { Type } from '@sinclair/typebox'
import { named, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'

export const IMPORT_TYPES = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const

export const ImportRecord = named(
  'Import',
  'A file of leads, and how far it is.',
)({
  id: Type.Integer({ examples: [1] }),
  state: Type.Unsafe({
    type: 'string',
    enum: ['queued', 'running', 'finished', 'failed', 'cancelled'],
    examples: ['running'],
  }),
  format: Type.Unsafe({ type: 'string', enum: Object.values(IMPORT_TYPES), examples: ['csv'] }),
  webhooks: Type.Boolean({ description: 'Whether Lead Created is sent for each lead.', examples: [false] }),
  file_size: Type.Integer({ description: 'Bytes of the file.', examples: [180_000] }),
  bytes_read: Type.Integer({ description: 'How many of them are done.', examples: [90_000] }),
  rows_read: Type.Integer({ description: 'Rows done, without the header.', examples: [500] }),
  rows_created: Type.Integer({ description: 'Of these, leads created.', examples: [498] }),
  rows_failed: Type.Integer({ description: 'Of these, rows refused.', examples: [2] }),
  failure: nullableOf('string', 'With the state `failed`: why no more rows could be read.'),
  created_at: timestamp('When it was sent.'),
  finished_at: nullableTimestamp('When it ended, in whatever way.'),
})

export const ImportFault = named(
  'ImportFault',
  'A row of an import that was refused.',
)({
  row: Type.Integer({ description: 'From 1: the first row below the header.', examples: [17] }),
  errors: Type.Record(Type.String(), Type.Array(Type.String()), {
    description:
      'Invalid fields, as in the `errors` of a problem; under `row` what is wrong with it as a whole.',
    examples: [{ email: ['The email must be a valid email address.'] }],
  }),
})
