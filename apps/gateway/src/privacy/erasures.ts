import { DELIVERY_STATUSES, describe, enumeration } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import {
  Actor,
  described,
  leadReferenceSchema,
  named,
  nullableScalar,
  nullableTimestamp,
  orNull,
  recordResponse,
  timestamp,
} from '../api/schemas'

const ErasedPlace = named('ErasedPlace', {
  store: enumeration(['postgresql', 'object_store', 'jetstream'], undefined, 'postgresql'),
  what: Type.String(describe('Kind of data. More kinds may be added.', 'customer')),
  count: nullableScalar(
    'integer',
    'Number of erased records. null until all data of this kind is erased.',
    1,
  ),
  erased_at: nullableTimestamp('When the data was erased. null until then.', '2026-11-21T09:30:00.123456Z'),
})

const Remains = named('ErasureRemains', {
  where: enumeration(
    ['imports', 'stream', 'wal', 'backups'],
    'Place of the remaining data. `imports`: files of unfinished imports. `stream`: published events whose position in the message stream is not known. `wal`: the write-ahead log of PostgreSQL. `backups`: backups of all stores.',
    'backups',
  ),
  until: nullableTimestamp(
    'When the remaining data is gone. For `wal` and `backups`, null while the erasure runs, and if the operator has not set how long backups are kept.',
    '2026-12-21T09:30:00.123456Z',
  ),
})

const ErasureReceiver = described('ErasureReceiver', 'An endpoint that `lead.erased` is sent to.', {
  endpoint_id: Type.Integer({ examples: [1] }),
  delivery_id: Type.Integer({ examples: [1] }),
  status: enumeration(DELIVERY_STATUSES, undefined, 'delivered'),
  delivered_at: nullableTimestamp(
    'When the endpoint responded with 2xx. null until then.',
    '2026-11-21T09:30:05.123456Z',
  ),
})

export const Erasure = described('Erasure', 'The receipt for the erasure of a lead.', {
  lead_reference: leadReferenceSchema(),
  status: enumeration(['running', 'done'], undefined, 'running'),
  actor: orNull(Actor, 'The user or the token that requested the erasure. null if neither is recorded.'),
  requested_at: timestamp('When the erasure was requested.'),
  finished_at: nullableTimestamp('When the erasure finished. null until then.'),
  erased: Type.Array(ErasedPlace, { description: 'The erased data, by store.' }),
  receivers: orNull(
    Type.Array(ErasureReceiver),
    'The endpoints that receive `lead.erased`, with the current status of each delivery. null until the erasure is done and the event is stored, and while the endpoints cannot be read (`receivers_unavailable`).',
  ),
  receivers_unavailable: nullableScalar(
    'string',
    'The reason that `receivers` cannot be read now. Retrieve the receipt again later. null otherwise.',
  ),
  remains: Type.Array(Remains, {
    description: 'Data that the service can no longer reach and that expires later.',
  }),
})

export const eraseLead = operation({
  route: 'POST /manage/leads/:reference/erase',
  scope: 'manage',
  tag: 'Privacy',
  summary: "Erase a lead's personal data",
  description:
    'Permanently erases the personal data of a lead from every store: at once from the lead, and within a minute from all other stores. The number, reference, status, value and times remain. Texts become empty. Pending deliveries of the lead are cancelled. Later changes to the lead are refused (409). Repeating the request returns the same receipt.',
  answer: { status: 202, ...recordResponse(Erasure, 'The receipt.') },
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body } = await clients.leads.eraseLead(leadKey(), limits)
    reply.code(202)
    return body
  },
})

export const retrieveErasure = operation({
  route: 'GET /manage/leads/:reference/erasure',
  scope: 'manage:read',
  tag: 'Privacy',
  summary: 'Retrieve the receipt for an erasure',
  description: 'Returns the receipt. The response is 404 if no erasure of the lead was requested.',
  answer: recordResponse(Erasure, 'The receipt.'),
  handler: async ({ leadKey, clients, limits }) =>
    (await clients.leads.retrieveErasure(leadKey(), limits)).body,
})
