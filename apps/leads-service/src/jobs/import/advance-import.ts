import type { Actor, AdvanceImportRequest, AdvanceImportResponse } from '@leadwire/contracts'
import {
  isRefusedValue,
  type OpenTransaction,
  ServiceError,
  splitIntoColumns,
  statement,
} from '@leadwire/service-kit'
import { writeLeadRows } from '../../leads/create/write-lead-rows'
import type { WriteLeadsDeps } from '../../leads/create/write-new-leads'
import type { OutboxEvent } from '../../outbox/record-events'
import { CLAIM } from './claim-import'

/** The maximum number of refused rows whose errors an import stores. Further rows are only counted. */
const MAX_ERRORS = 10_000

/** The maximum size of the refused rows that an import stores, in bytes. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024

const select = statement<ClaimedRow>('claimed-import')`
  SELECT state, webhooks, token_id AS "tokenId", user_id AS "userId", request_id AS "requestId", rows_read AS "rowsRead", rows_failed AS "rowsFailed",
    kept_bytes AS "keptBytes"
  FROM imports WHERE account_id = $1 AND id = $2 AND claim_id = $3 AND position = $4
  FOR NO KEY UPDATE`

const move = statement('move-import')`
  UPDATE imports SET position = $3, columns = $4, delimiter = $10, ignored_columns = $11, kept_bytes = $12, claimed_until = clock_timestamp() + ${CLAIM},
    rows_read = rows_read + $5, rows_created = rows_created + $6, rows_failed = rows_failed + $7,
    state = $8, failure = $9, finished_at = CASE WHEN $8 = 'running' THEN NULL ELSE clock_timestamp() END
  WHERE account_id = $1 AND id = $2`

interface ClaimedRow {
  state: string
  webhooks: boolean
  tokenId: number | null
  userId: number | null
  requestId: string | null
  rowsRead: number
  rowsFailed: number
  keptBytes: number
}

interface RowError {
  row: number
  errors: string
  source: string | null
}

/**
 * Drops the source of each row that does not fit into MAX_KEPT_BYTES. Returns the new size of all rows that
 * the import stores, in bytes.
 */
const limitSources = (errors: RowError[], keptBytes: number): number => {
  let bytes = keptBytes
  for (const error of errors) {
    const size = Buffer.byteLength(error.source ?? '')
    if (bytes + size > MAX_KEPT_BYTES) error.source = null
    else bytes += size
  }
  return bytes
}

const insertErrors = statement('insert-import-errors')`
  INSERT INTO import_errors (account_id, import_id, row, errors, source)
  SELECT $1, $2, row, errors, source
  FROM unnest($3::bigint[], $4::json[], $5::text[]) AS given (row, errors, source)`

const chooseState = ({ failure, finished }: AdvanceImportRequest): 'failed' | 'finished' | 'running' => {
  if (failure !== undefined) return 'failed'
  return finished ? 'finished' : 'running'
}

const advance = async (
  deps: WriteLeadsDeps,
  tx: OpenTransaction,
  request: AdvanceImportRequest,
  events: OutboxEvent[],
): Promise<AdvanceImportResponse> => {
  const { accountId, importId, claimId } = request.claim!
  const [claimed] = await select(tx, accountId, importId, claimId, request.from)
  // No row is found if another process has claimed the import, or if the import's position is no longer
  // `from`. A caller that has lost a response and repeats the call is therefore refused, because the first
  // call has moved the position.
  if (!claimed) throw new ServiceError('conflict', 'Another process is working on the import.')
  if (claimed.state !== 'running') return { running: false }
  const { rows, to, columns, delimiter, failure } = request
  const { tokenId, userId, requestId, webhooks } = claimed
  const actor: Actor | undefined =
    tokenId === null
      ? undefined
      : { tokenId, userId: userId ?? undefined, tokenName: '', requestId: requestId ?? '' }
  const context = { accountId, traceparent: '', actor }
  const outcomes = await writeLeadRows(deps, tx, rows, context, webhooks ? events : undefined)
  const failed = outcomes.flatMap((outcome, at) => {
    if ('lead' in outcome) return []
    return [{ row: claimed.rowsRead + at + 1, errors: outcome.errors, source: rows[at]!.source ?? null }]
  })
  const kept: RowError[] = failed.slice(0, Math.max(0, MAX_ERRORS - claimed.rowsFailed))
  const keptBytes = limitSources(kept, claimed.keptBytes)
  if (kept.length > 0)
    insertErrors.send(tx, accountId, importId, ...splitIntoColumns(kept, 'row', 'errors', 'source'))
  const state = chooseState(request)
  const counts = [rows.length, rows.length - failed.length, failed.length]
  const ignored = JSON.stringify(
    request.ignoredColumns.map(({ name, didYouMean = null }) => ({ name, did_you_mean: didYouMean })),
  )
  move.send(
    tx,
    accountId,
    importId,
    to,
    columns,
    ...counts,
    state,
    failure ?? null,
    delimiter,
    ignored,
    keptBytes,
  )
  return { running: state === 'running' }
}

/**
 * Processes the next rows of an import: writes their leads, records the errors of refused rows, and moves the
 * import's position. One transaction does all this, so a crash neither repeats nor loses a row. If the import
 * is without webhooks, no events are written or published. Throws `conflict` if another process has the
 * claim.
 */
export const advanceImport = async (
  deps: WriteLeadsDeps,
  request: AdvanceImportRequest,
): Promise<AdvanceImportResponse> => {
  const events: OutboxEvent[] = []
  try {
    const response = await deps.database.transaction((tx) => advance(deps, tx, request, events))
    deps.onCommitted(events)
    return response
  } catch (error) {
    throw isRefusedValue(error)
      ? new ServiceError('bad_request', 'A row contains a value that cannot be stored.')
      : error
  }
}
