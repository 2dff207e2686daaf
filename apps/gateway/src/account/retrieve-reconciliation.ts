import { operation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { ReconciliationRecord, reconciliationRecord } from './reconciliation-schema'

export const retrieveReconciliation = operation({
  route: 'GET /manage/reconciliation',
  operationId: 'retrieveReconciliation',
  summary: 'Retrieve the last reconciliation',
  description:
    'What the check came to that goes over new leads, their events and open deliveries each minute. A finding stays until a later check explains it.',
  answer: dataOf(ReconciliationRecord, 'The last check of the account.'),
  handler: async ({ accountId, clients, limits }) =>
    reconciliationRecord(await clients.reconciliation.retrieveReconciliation({ accountId }, limits)),
})
