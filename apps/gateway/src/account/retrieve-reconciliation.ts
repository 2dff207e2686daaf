import { managementOperation } from '../api/operation'
import { dataOf } from '../api/schemas'
import { ReconciliationRecord, reconciliationRecord } from './reconciliation-schema'

/** GET /manage/reconciliation. */
export const retrieveReconciliation = managementOperation({
  method: 'GET',
  url: '/manage/reconciliation',
  operationId: 'retrieveReconciliation',
  tag: 'Management',
  summary: 'Retrieve the last reconciliation',
  description:
    'What the check came to that goes over new leads, their events and open deliveries each minute. A finding stays until a later check explains it.',
  answer: { description: 'The last check of the account.', schema: dataOf(ReconciliationRecord) },
  run: async ({ accountId, clients, limits }) =>
    reconciliationRecord(await clients.reconciliation.retrieveReconciliation({ accountId }, limits)),
})
