import type { Actor, AdvanceImportRequest, AdvanceImportResponse } from '@leadwire/contracts'
import {
  columnsOf,
  isRefusedValue,
  type OpenTransaction,
  ServiceError,
  statement,
} from '@leadwire/service-kit'
import { validate } from '../../arguments'
import type { CreateLeadsDeps } from '../../leads/create/create-leads'
import { createRows, errorsOfRow } from '../../leads/create/create-rows'
import type { OutboxEvent } from '../../outbox/record-events'
import { CLAIM, isClaim } from './claim-import'

/** How many errors of an import are kept; more are only counted. */
const MAX_FAULTS = 10_000

const select = statement<ClaimedRow>('claimed-import')`
  SELECT state, webhooks, token_id AS "tokenId", request_id AS "requestId", rows_read AS "rowsRead", rows_failed AS "rowsFailed"
  FROM imports WHERE account_id = $1 AND id = $2 AND claim_id = $3 AND position = $4
  FOR NO KEY UPDATE`

const move = statement('move-import')`
  UPDATE imports SET position = $3, columns = $4, delimiter = $10, claimed_until = clock_timestamp() + ${CLAIM},
    rows_read = rows_read + $5, rows_created = rows_created + $6, rows_failed = rows_failed + $7,
    state = $8, failure = $9, finished_at = CASE WHEN $8 = 'running' THEN NULL ELSE clock_timestamp() END
  WHERE account_id = $1 AND id = $2`

interface ClaimedRow {
  state: string
  webhooks: boolean
  tokenId: number | null
  requestId: string | null
  rowsRead: number
  rowsFailed: number
}

const insertFaults = statement('insert-import-faults')`
  INSERT INTO import_faults (account_id, import_id, row, errors)
  SELECT $1, $2, row, errors FROM unnest($3::bigint[], $4::json[]) AS given (row, errors)`

const advance = async (
  deps: CreateLeadsDeps,
  tx: OpenTransaction,
  request: AdvanceImportRequest,
  events: OutboxEvent[],
): Promise<AdvanceImportResponse> => {
  const { accountId, importId, claimId } = request.claim!
  const [claimed] = await select(tx, accountId, importId, claimId, request.from)
  // Another process has it, or has moved it: a call that is repeated after a lost response is not done again.
  if (!claimed) throw new ServiceError('conflict', 'The import is worked on by another process.')
  if (claimed.state !== 'running') return { goingOn: false }
  const { rows, to, columns, delimiter, finished, failure } = request
  const { tokenId, requestId, webhooks } = claimed
  const actor: Actor | undefined =
    tokenId === null ? undefined : { tokenId, tokenName: '', requestId: requestId ?? '' }
  const common = { accountId, traceparent: '', actor }
  const outcomes = await createRows(deps, tx, rows, common, webhooks ? events : undefined)
  const failed = outcomes.flatMap((outcome, at) => {
    const errors = errorsOfRow(outcome)
    return errors === undefined ? [] : [{ row: claimed.rowsRead + at + 1, errors }]
  })
  const kept = failed.slice(0, Math.max(0, MAX_FAULTS - claimed.rowsFailed))
  if (kept.length > 0) insertFaults.send(tx, accountId, importId, ...columnsOf(kept, 'row', 'errors'))
  const state = failure !== undefined ? 'failed' : finished ? 'finished' : 'running'
  const counts = [rows.length, rows.length - failed.length, failed.length]
  move.send(tx, accountId, importId, to, columns, ...counts, state, failure ?? null, delimiter)
  return { goingOn: state === 'running' }
}

/**
 * Creates the leads of the next rows of an import, records the errors of others, and moves the import behind them, all in one
 * transaction: whatever is killed, no row is created twice and none is left out. Without webhooks nothing is written to the
 * outbox, so that the sweep finds no lost event. Throws conflict when another process has the claim.
 */
export const advanceImport = async (
  deps: CreateLeadsDeps,
  request: AdvanceImportRequest,
): Promise<AdvanceImportResponse> => {
  validate({
    claim: isClaim(request.claim),
    from: request.from >= 0,
    to: request.to >= request.from,
    rows: request.rows.every(({ row }) => row !== undefined),
  })
  const events: OutboxEvent[] = []
  try {
    const response = await deps.database.transaction((tx) => advance(deps, tx, request, events))
    deps.onCommitted(events)
    return response
  } catch (error) {
    throw isRefusedValue(error)
      ? new ServiceError('bad_request', 'A value of a row can not be stored.')
      : error
  }
}
