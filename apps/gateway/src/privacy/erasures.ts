import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import {
  dataOf,
  described,
  leadReferenceSchema,
  named,
  nullableOf,
  nullableTimestamp,
  orNull,
  timestamp,
} from '../api/schemas'
import { DELIVERY_STATUSES } from '../deliveries/deliveries'
import { describe, oneOf } from '../validation/fields'

const ErasedPlace = named('ErasedPlace', {
  store: oneOf(['postgresql', 'object_store', 'jetstream'], undefined, 'postgresql'),
  what: Type.String(describe('What it is. Further kinds may be added.', 'customer')),
  count: nullableOf('integer', 'How many there were; null while it is to be done.', 1),
  erased_at: nullableTimestamp('When it was done.', '2026-11-21T09:30:00.123456Z'),
})

const Remains = named('ErasureRemains', {
  where: oneOf(
    ['imports', 'stream', 'wal', 'backups'],
    '`imports`: files of imports that are not done. `stream`: events from before their place in the stream was recorded, or that were published twice. `wal`: the write-ahead log of PostgreSQL. `backups`: of all stores.',
    'backups',
  ),
  until: nullableTimestamp(
    'Until when. Null while the erasure runs, and where the operator has not said how long backups are kept.',
    '2026-12-21T09:30:00.123456Z',
  ),
})

const ErasureReceiver = described('ErasureReceiver', 'An endpoint to which `lead.erased` is sent.', {
  endpoint_id: Type.Integer({ examples: [1] }),
  delivery_id: Type.Integer({ examples: [1] }),
  status: oneOf(DELIVERY_STATUSES, undefined, 'delivered'),
  delivered_at: nullableTimestamp(
    'When the endpoint confirmed it with 2xx; null until then.',
    '2026-11-21T09:30:05.123456Z',
  ),
})

export const Erasure = described('Erasure', "The receipt of a lead's erasure.", {
  lead_reference: leadReferenceSchema(),
  status: oneOf(['running', 'done'], undefined, 'running'),
  requested_at: timestamp('When it was asked for.'),
  finished_at: nullableTimestamp('When everything was done.'),
  erased: Type.Array(ErasedPlace, { description: 'What was erased where.' }),
  receivers: orNull(
    Type.Array(ErasureReceiver),
    'Null until the event is recorded. Renewed 2, 4, 8 … seconds after the request, at last once a day.',
  ),
  remains: Type.Array(Remains, {
    description: 'What can no longer be reached through the service, and ends later.',
  }),
})

export const eraseLead = operation({
  route: 'POST /manage/leads/:reference/erase',
  tag: 'Privacy',
  summary: "Erase a lead's personal data",
  description:
    'For good, from every store: at once from the lead itself, within a minute from everywhere else. Number, reference, status, value and times stay, texts are empty. What is still to be delivered of the lead is cancelled. Nothing of the lead changes afterwards (409). Asked again, the answer is the same receipt.',
  answer: { status: 202, ...dataOf(Erasure, 'The receipt.') },
  handler: async ({ leadKey, reply, clients, limits }) => {
    const { body } = await clients.leads.eraseLead(leadKey(), limits)
    reply.code(202)
    return body
  },
})

export const retrieveErasure = operation({
  route: 'GET /manage/leads/:reference/erasure',
  tag: 'Privacy',
  summary: "Retrieve the receipt of a lead's erasure",
  description: '404 for a lead whose erasure was not requested.',
  answer: dataOf(Erasure, 'The receipt.'),
  handler: async ({ leadKey, clients, limits }) =>
    (await clients.leads.retrieveErasure(leadKey(), limits)).body,
})
