import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { recordOf } from '../api/record'
import { dataOf, described, named, nullableOf, nullableTimestamp, timestamp } from '../api/schemas'
import { describe } from '../validation/fields'

const KINDS = [
  ...['lead_missing', 'event_missing', 'event_waiting'],
  ...['deliveries_missing', 'delivery_overdue', 'delivery_beyond_schedule', 'delivery_held'],
]

const UnexplainedRecord = named('Unexplained', {
  kind: Type.String({ enum: KINDS, examples: ['event_waiting'] }),
  lead_number: nullableOf(
    'integer',
    'The place of the lead among those of the account; null where none is known.',
    7,
  ),
  lead_reference: nullableOf(
    'string',
    'The lead; null where none is known.',
    '0f9c3a52-8d1e-4b67-9a05-3c7e2f4d1b86',
  ),
  event_id: nullableOf('string', 'The event.', '6c1f0d4a-2b7e-4f93-8e50-1d9a7c3b5e28'),
  delivery_id: nullableOf('integer', 'The delivery.'),
  since: timestamp('Since when it has been so: when the lead or event was made, or the delivery was due.'),
  detail: Type.String({ examples: ['The event is in the outbox and not published.'] }),
})

const ReconciliationRecord = described(
  'Reconciliation',
  'Whether every lead has its event, every event the deliveries it was stored with, and every delivery its explanation.',
  {
    started_at: nullableTimestamp(
      'When the last check began; null before the first.',
      '2026-11-21T09:30:00.123456Z',
    ),
    finished_at: nullableTimestamp('When it ended.', '2026-11-21T09:30:00.234567Z'),
    leads: Type.Integer({ description: 'How many leads the account has.', examples: [42] }),
    checked_leads: Type.Integer(
      describe('Up to which number they are checked. Leads whose event is on its way are waited for.', 42),
    ),
    unexplained_count: Type.Integer({ description: '10000 stands for as many or more.', examples: [1] }),
    unexplained: Type.Array(UnexplainedRecord, { description: 'The first hundred, oldest first.' }),
  },
)

const unexplainedRecord = recordOf(UnexplainedRecord)
const reconciliationRecord = recordOf(ReconciliationRecord)

export const retrieveReconciliation = operation({
  route: 'GET /manage/reconciliation',
  summary: 'Retrieve the last reconciliation',
  description:
    'What the check came to that goes over new leads, their events and open deliveries each minute. A finding stays until a later check explains it.',
  answer: dataOf(ReconciliationRecord, 'The last check of the account.'),
  handler: async ({ accountId, clients, limits }) => {
    const found = await clients.reconciliation.retrieveReconciliation({ accountId }, limits)
    return { ...reconciliationRecord(found), unexplained: found.unexplained.map(unexplainedRecord) }
  },
})
