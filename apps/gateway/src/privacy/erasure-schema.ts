import { Type } from '@sinclair/typebox'
import { leadReferenceSchema, named, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'

const ErasedPlace = named('ErasedPlace')({
  store: Type.Unsafe<string>({
    type: 'string',
    enum: ['postgresql', 'object_store', 'jetstream'],
    examples: ['postgresql'],
  }),
  what: Type.String({
    description: 'What it is. Further kinds may be added.',
    examples: ['customer'],
  }),
  count: nullableOf('integer', 'How many there were; null while it is to be done.', 1),
  erased_at: nullableTimestamp('When it was done.', '2026-11-21T09:30:00.123456Z'),
})

const Remains = named('ErasureRemains')({
  where: Type.Unsafe<string>({
    type: 'string',
    enum: ['imports', 'stream', 'wal', 'backups'],
    description:
      '`imports`: files of imports that are not done. `stream`: events from before their place in the stream was recorded, or that were published twice. `wal`: the write-ahead log of PostgreSQL. `backups`: of all stores.',
    examples: ['backups'],
  }),
  until: nullableTimestamp(
    'Until when. Null while the erasure runs, and where the operator has not said how long backups are kept.',
    '2026-12-21T09:30:00.123456Z',
  ),
})

export const Erasure = named(
  'Erasure',
  "The receipt of a lead's erasure.",
)({
  lead_reference: leadReferenceSchema(),
  status: Type.Unsafe<string>({ type: 'string', enum: ['running', 'done'], examples: ['running'] }),
  requested_at: timestamp('When it was asked for.'),
  finished_at: nullableTimestamp('When everything was done.'),
  erased: Type.Array(ErasedPlace, { description: 'What was erased where.' }),
  remains: Type.Array(Remains, {
    description: 'What can no longer be reached through the service, and ends later.',
  }),
})
