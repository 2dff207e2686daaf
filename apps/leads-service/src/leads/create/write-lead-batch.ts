import type { WriteLeadBatchRequest, WriteLeadBatchResponse } from '@leadwire/contracts'
import {
  answerUnderKey,
  isRefusedValue,
  type OpenTransaction,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import type { Dependencies } from '../../operation'
import type { OutboxEvent } from '../../outbox/record-events'
import { type RowOutcome, writeLeadRows } from './write-lead-rows'
import type { WriteLeadsDeps } from './write-new-leads'

// The erasure of a lead finds the saved responses of batches by these references, and deletes the responses.
const saveReferences = statement('save-references-of-batch')`
  UPDATE idempotency_keys SET lead_references = $3 WHERE token_id = $1 AND key = $2`

type Deps = WriteLeadsDeps & Pick<Dependencies, 'actor'>

const renderOutcome = (outcome: RowOutcome): string =>
  'errors' in outcome ? `{"errors":${outcome.errors}}` : outcome.lead.body.toString()

const writeBatch = async (
  deps: Deps,
  tx: OpenTransaction,
  request: WriteLeadBatchRequest,
  events: OutboxEvent[],
): Promise<WriteLeadBatchResponse> => {
  const { accountId, rows, traceparent, idempotency } = request
  const references: string[] = []
  const answer = await answerUnderKey(tx, idempotency, async () => {
    const context = { accountId, traceparent, actor: deps.actor }
    const outcomes = await writeLeadRows(deps, tx, rows, context, events)
    for (const outcome of outcomes) if ('lead' in outcome) references.push(outcome.lead.reference)
    return Buffer.from(`{"data":[${outcomes.map(renderOutcome)}]}`)
  })
  if (idempotency && references.length > 0)
    saveReferences.send(tx, idempotency.tokenId, idempotency.key, references)
  return answer
}

/**
 * Writes up to 100 leads in one transaction, which also saves the response. Each lead has its own result.
 */
export const writeLeadBatch = async (
  deps: Deps,
  request: WriteLeadBatchRequest,
): Promise<WriteLeadBatchResponse> => {
  const events: OutboxEvent[] = []
  try {
    const answer = await deps.database.transaction((tx) => writeBatch(deps, tx, request, events))
    deps.onCommitted(events)
    return answer
  } catch (error) {
    if (isRefusedValue(error))
      throw new ServiceError('bad_request', 'A lead contains a value that cannot be stored.')
    throw error
  }
}
