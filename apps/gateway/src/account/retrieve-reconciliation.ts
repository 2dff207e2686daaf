import { describe } from '@leadwire/requests'
import { Type } from '@sinclair/typebox'
import { operation } from '../api/operation'
import { createRecordRenderer } from '../api/render-record'
import {
  described,
  named,
  nullableScalar,
  nullableTimestamp,
  recordResponse,
  timestamp,
} from '../api/schemas'

const KINDS = [
  'lead_missing',
  'event_missing',
  'event_waiting',
  'fan_out_overdue',
  'deliveries_missing',
  'delivery_overdue',
  'delivery_beyond_schedule',
  'delivery_held',
]

const UnexplainedRecord = named('Unexplained', {
  kind: Type.String({ enum: KINDS, examples: ['event_waiting'] }),
  lead_number: nullableScalar('integer', 'The number of the lead within the account. null if unknown.', 7),
  lead_reference: nullableScalar(
    'string',
    'The reference of the lead. null if unknown.',
    '0f9c3a52-8d1e-4b67-9a05-3c7e2f4d1b86',
  ),
  event_id: nullableScalar(
    'string',
    'The ID of the event. null if unknown.',
    '6c1f0d4a-2b7e-4f93-8e50-1d9a7c3b5e28',
  ),
  delivery_id: nullableScalar(
    'integer',
    'The ID of the delivery. null if the finding is not about one delivery.',
  ),
  since: timestamp(
    'When the finding started: when the lead or event was created, or when the delivery was due.',
  ),
  detail: Type.String({ examples: ['The event is in the outbox, but webhook-service has not stored it.'] }),
})

const ReconciliationRecord = described(
  'Reconciliation',
  'The result of a check. The check finds leads without an event, events without their deliveries, and deliveries that are overdue, wrongly held, or due later than the schedule allows.',
  {
    started_at: nullableTimestamp(
      'When the last check started. null before the first check.',
      '2026-11-21T09:30:00.123456Z',
    ),
    finished_at: nullableTimestamp(
      'When the last check ended. null before the first check.',
      '2026-11-21T09:30:00.234567Z',
    ),
    leads: Type.Integer({ description: 'Number of leads in the account.', examples: [42] }),
    checked_leads: Type.Integer(
      describe(
        'Every lead up to this lead number has been checked. The check stops at a lead whose event is still in flight, and continues later.',
        42,
      ),
    ),
    unexplained_count: Type.Integer({
      description: 'Number of findings. 10000 means 10,000 or more.',
      examples: [1],
    }),
    unexplained: Type.Array(UnexplainedRecord, { description: 'The first 100 findings, oldest first.' }),
  },
)

const renderFinding = createRecordRenderer(UnexplainedRecord)
const renderReconciliation = createRecordRenderer(ReconciliationRecord)

export const retrieveReconciliation = operation({
  route: 'GET /manage/reconciliation',
  summary: 'Retrieve the last reconciliation',
  description:
    'Returns the result of the last check. A check runs every minute and covers new leads, their events and open deliveries. A finding remains until a later check no longer confirms the finding.',
  answer: recordResponse(ReconciliationRecord, 'The last check of the account.'),
  handler: async ({ accountId, clients, limits }) => {
    const found = await clients.reconciliation.retrieveReconciliation({ accountId }, limits)
    return { ...renderReconciliation(found), unexplained: found.unexplained.map(renderFinding) }
  },
})
