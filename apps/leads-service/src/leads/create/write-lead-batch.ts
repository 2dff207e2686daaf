import type { Actor, WriteLeadBatchRequest, WriteLeadBatchResponse } from '@leadwire/contracts'
import {
  createBatcher,
  isRefusedValue,
  type OpenTransaction,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import { isActor, isId, isOptional, validate } from '../../arguments'
import { underKey } from '../../idempotency/idempotency-keys'
import type { OutboxEvent } from '../../outbox/record-events'
import type { CreateLeadsDeps } from './create-leads'
import { createRows, errorsOfRow } from './create-rows'

const MAX_ROWS = 100

// An erasure of one of them deletes the saved answer.
const saveReferences = statement('save-references-of-batch')`
  UPDATE idempotency_keys SET lead_references = $3 WHERE token_id = $1 AND key = $2`

type Deps = CreateLeadsDeps & { actor?: Actor | undefined }

const writeBatch = async (
  deps: Deps,
  tx: OpenTransaction,
  { accountId, rows, traceparent, idempotency }: WriteLeadBatchRequest,
  events: OutboxEvent[],
): Promise<WriteLeadBatchResponse> => {
  const references: string[] = []
  const answer = await underKey(tx, idempotency, async () => {
    const common = { accountId, traceparent, actor: deps.actor }
    const outcomes = await createRows(deps, tx, rows, common, events)
    const parts = outcomes.map((outcome) => {
      const errors = errorsOfRow(outcome)
      if (errors !== undefined) return `{"errors":${errors}}`
      const body = (outcome as { body: Buffer }).body.toString()
      if (idempotency) references.push(JSON.parse(body).data.reference)
      return body
    })
    return Buffer.from(`{"data":[${parts}]}`)
  })
  if (references.length > 0) saveReferences.send(tx, idempotency!.tokenId, idempotency!.key, references)
  return answer
}

/**
 * Writes the leads of rows in one transaction, each with its own result, so that the answer is saved with them. Two are
 * written at a time, accounts in turn: a batch has up to a megabyte.
 */
export const createWriteLeadBatch = ({ meters }: Pick<CreateLeadsDeps, 'meters'>) => {
  const enter = createBatcher<
    { accountId: number; work: () => Promise<WriteLeadBatchResponse> },
    WriteLeadBatchResponse
  >({
    meter: meters?.('lead_batches'),
    send: async ([first]) => [await first!.work()],
    ...{ maxBatch: 1, maxInFlight: 2, maxQueued: 1000 },
    queueOf: ({ accountId }) => accountId,
  })
  return (deps: Deps) =>
    (request: WriteLeadBatchRequest): Promise<WriteLeadBatchResponse> => {
      const { accountId, rows } = request
      validate({
        account_id: isId(accountId),
        leads: rows.length > 0 && rows.length <= MAX_ROWS && rows.every(({ row }) => row !== undefined),
        actor: isOptional(deps.actor, isActor),
      })
      const work = async () => {
        const events: OutboxEvent[] = []
        try {
          const answer = await deps.database.transaction((tx) => writeBatch(deps, tx, request, events))
          deps.onCommitted(events)
          return answer
        } catch (error) {
          throw isRefusedValue(error)
            ? new ServiceError('bad_request', 'A value of a lead can not be stored.')
            : error
        }
      }
      return enter({ accountId, work })
    }
}
